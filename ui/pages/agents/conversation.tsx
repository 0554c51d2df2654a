import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AgentMessage } from '../../../src/contract/agents.ts';
import type { Relay } from '../../../src/contract/relay.ts';
import { pointerId, to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { onSubmit, TextArea } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Failure } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAction, useAsked } from '../../session/asking.ts';
import { hasScope, self } from '../../session/self.ts';

const AND = new Intl.ListFormat('en');

/** The messages of a conversation with their receipts, and a form to take part. */
export function ConversationPage({ id }: { id: string }) {
  const answer = useAsked((relay) => relay.agents.conversation(id), [id], { every: 5_000 });
  const conversation = answer.value?.conversation;
  return (
    <>
      <PageHead
        title={conversation?.about || 'Conversation'}
        above={{ title: 'Conversations', href: `${to('agents')}?tab=conversations` }}
      >
        {conversation && (
          <>
            <span>
              between <ForeignText text={AND.format(conversation.agents)} max={120} />
            </span>
            <span>
              {conversation.messages} of at most {conversation.limit} messages
            </span>
          </>
        )}
      </PageHead>
      <Answer of={answer}>
        {({ conversation, messages }) => (
          <div class="stack">
            {conversation.messages >= conversation.limit && <Proceed id={id} again={answer.again} />}
            <ol class="rows panel" aria-label="Messages, oldest first">
              {messages.map((message) => (
                <Message key={message.id} message={message} again={answer.again} />
              ))}
            </ol>
            {hasScope('tasks') && messages.length > 0 && <Reply messages={messages} again={answer.again} />}
          </div>
        )}
      </Answer>
    </>
  );
}

function Message({ message, again }: { message: AgentMessage; again: () => void }) {
  const allowing = useAction(async (relay) => {
    await relay.agents.allow(message.to, message.from);
    again();
  });
  const id = pointerId(message.url);
  return (
    <li>
      <div class="agent">
        <p>
          <ForeignText as="strong" text={message.from} max={60} />{' '}
          <span class="soft">
            to <ForeignText text={message.to} max={60} />, <Ago at={message.at} />
          </span>
        </p>
        <ForeignText as="p" class="break" text={message.text} max={8_000} />
        {id && (
          <p class="small">
            <a href={to('pointers', id)}>Open the attached payload</a>
          </p>
        )}
        {message.held && (
          <p class="small warn-text">
            {message.to} does not know this sender, so the message waits.{' '}
            <button type="button" class="link" disabled={allowing.busy} onClick={() => allowing.run()}>
              Allow {message.from}
            </button>
          </p>
        )}
        <Failure error={allowing.error} />
      </div>
      <div class="agent-figures soft small">
        <Badge word={message.state} />
        <span>
          <Receipt message={message} />
        </span>
      </div>
    </li>
  );
}

/** Displays when the message reached its latest receipt stage, and the route by which the agent received it. */
function Receipt({ message: { answered_at, read_at, shown_at, sent_at, route } }: { message: AgentMessage }) {
  const at = answered_at ?? read_at ?? shown_at;
  if (at)
    return (
      <>
        <Ago at={at} />
        {route && ` by ${route}`}
      </>
    );
  return <>{sent_at ? 'sent, not confirmed yet' : 'not shown yet'}</>;
}

function Proceed({ id, again }: { id: string; again: () => void }) {
  const proceeding = useAction(async (relay) => {
    await relay.agents.proceed(id);
    again();
  });
  return (
    <div class="warning" role="status">
      This conversation has reached its limit. The agents cannot write until you allow more.{' '}
      <button type="button" class="button" disabled={proceeding.busy} onClick={() => proceeding.run()}>
        Allow more messages
      </button>
      <Failure error={proceeding.error} />
    </div>
  );
}

/**
 * Form for a reply to the last message from somebody else. If all messages are the caller's own, the form sends
 * another message to the same agent.
 */
function Reply({ messages, again }: { messages: readonly AgentMessage[]; again: () => void }) {
  const caller = self.value?.name;
  const last = messages.findLast(({ from }) => from !== caller) ?? messages.at(-1)!;
  const name = last.from === caller ? last.to : last.from;
  return (
    <MessageForm
      label={`Write to ${name}`}
      rows={3}
      send={async (relay, text) => {
        await relay.agents.send(name, text, { reply_to: last.id, queue: true });
        again();
      }}
    />
  );
}

/** A form with a text and a button that sends it. `children` are fields above the text. */
export function MessageForm(o: {
  label: string;
  rows: number;
  send: (relay: Relay, text: string) => Promise<void>;
  children?: ComponentChildren;
}) {
  const [text, setText] = useState('');
  const sending = useAction(async (relay) => {
    await o.send(relay, text);
    setText('');
  });
  return (
    <form class="form" onSubmit={onSubmit(() => sending.run())}>
      {o.children}
      <TextArea label={o.label} rows={o.rows} value={text} set={setText} />
      <div>
        <button type="submit" class="button solid" disabled={sending.busy || text.trim() === ''}>
          Send
        </button>
      </div>
      <Failure error={sending.error} />
    </form>
  );
}
