import { useState } from 'preact/hooks';
import type { AskedQuestion } from '../../../src/contract/questions.ts';
import { to } from '../../frame/router.ts';
import { Command } from '../../parts/copy-button.tsx';
import { Field, onSubmit } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Empty, Failure } from '../../parts/notices.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAction } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';

/** Questions of agents and pipelines that wait for a person, each with a form for the answer. */
export function Questions({ questions, again }: { questions: readonly AskedQuestion[]; again: () => void }) {
  if (questions.length === 0)
    return (
      <Empty title="No question waits for you.">
        <p>Pipelines and agents ask here when a person has to decide.</p>
        <Command
          line='relay ask "Deploy to production?" --choices yes,no --timeout 10s --default no'
          about="Ask one:"
        />
      </Empty>
    );
  return (
    <div class="stack">
      {questions.map((question) => (
        <Question key={question.id} question={question} again={again} />
      ))}
    </div>
  );
}

function Question({ question, again }: { question: AskedQuestion; again: () => void }) {
  const { id, choices, asked_by, asked_at, expires_at, thread_id, step, who } = question;
  const [text, setText] = useState('');
  const [comment, setComment] = useState('');
  const answering = useAction(async (relay, answer: string) => {
    await relay.questions.answer(id, { answer, ...(comment.trim() ? { comment: comment.trim() } : {}) });
    again();
  });
  return (
    <section class="panel" aria-label={`Question of ${asked_by}`}>
      <ForeignText as="h2" class="break" text={question.question} max={2_000} />
      <p class="page-facts">
        <span>
          <ForeignText text={asked_by} max={60} /> asked <Ago at={asked_at} />
        </span>
        <span>
          expires <Ago at={expires_at} />
          {question.default !== null && (
            <>
              , then the answer is <ForeignText text={question.default} max={60} />
            </>
          )}
        </span>
        {thread_id && (
          <a href={to(step ? 'pipelines' : 'threads', thread_id)}>
            {step ? 'Open the run' : 'Open the thread'}
          </a>
        )}
        {who.length > 0 && (
          <span>
            for <ForeignText text={who.join(', ')} max={80} />
          </span>
        )}
      </p>
      {hasScope('answer') ? (
        <form class="form spaced" onSubmit={onSubmit(() => text.trim() !== '' && answering.run(text.trim()))}>
          {choices.length === 0 && <Field label="Answer" value={text} set={setText} />}
          <Field label="Comment (optional)" value={comment} set={setComment} />
          <div class="page-actions">
            {choices.length === 0 ? (
              <button type="submit" class="button solid" disabled={answering.busy || text.trim() === ''}>
                Answer
              </button>
            ) : (
              choices.map((choice) => (
                <button
                  key={choice}
                  type="button"
                  class="button"
                  disabled={answering.busy}
                  onClick={() => answering.run(choice)}
                >
                  <ForeignText text={choice} max={60} />
                </button>
              ))
            )}
          </div>
          <Failure error={answering.error} />
        </form>
      ) : (
        <p class="soft">Your key may not answer questions. It needs the scope “answer”.</p>
      )}
    </section>
  );
}
