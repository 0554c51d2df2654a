import type { Context, Hono } from 'hono';
import { badRequest, isRelayError } from '../../base/errors.ts';
import { ANSWER_FORM_BYTES } from '../../base/limits.ts';
import type { AskedQuestion } from '../../contract/questions.ts';
import { bodyText } from '../body-text.ts';
import type { HttpDeps } from './deps.ts';
import { notesOf } from './request-watch.ts';

/**
 * Adds the page behind a one-time link: a form without scripts that answers one question. Mail scanners and
 * link previews open links, so only sending the form answers the question.
 */
export function answerRoutes(app: Hono, deps: HttpDeps): void {
  const find = async (c: Context): Promise<[token: string, question: AskedQuestion | null]> => {
    notesOf(c).operation = { name: 'questions.page' };
    const token = c.req.param('token') ?? '';
    const question = await deps.core.questions.byToken(token);
    // Count wrong tokens by address in the rate limiter, so that nobody can guess a token quickly.
    if (!question) await deps.limiter?.check(null, notesOf(c).client.address);
    return [token, question];
  };
  app.get('/answer/:token', async (c) => {
    const [, question] = await find(c);
    return question?.status === 'open' ? page(200, form(question)) : endedPage();
  });
  app.post('/answer/:token', async (c) => {
    const [token, question] = await find(c);
    if (question?.status !== 'open') return endedPage();
    if (!(c.req.header('content-type') ?? '').startsWith('application/x-www-form-urlencoded'))
      throw badRequest(
        'The request body is not a form.',
        'Send the answer as application/x-www-form-urlencoded, in the field "answer".',
      );
    const limit = { bytes: ANSWER_FORM_BYTES, what: 'an answer' };
    const fields = new URLSearchParams(await bodyText(c.req.raw, limit));
    const input = { answer: fields.get('answer') ?? '', comment: fields.get('comment') ?? '' };
    try {
      const { answer } = await deps.core.questions.answerByToken(token, input);
      return page(
        200,
        `<h1>Thank you</h1><p>Your answer was recorded: <b>${escapeHtml(answer ?? '')}</b></p>`,
      );
    } catch (error) {
      if (isRelayError(error, 'conflict')) return endedPage();
      if (isRelayError(error, 'bad_request')) return page(400, form(question, error.message));
      throw error;
    }
  });
}

function form(question: AskedQuestion, wrong = ''): string {
  const { choices, asked_by, step, expires_at } = question;
  const inputs = choices.map(
    (choice) => `<button name="answer" value="${escapeHtml(choice)}">${escapeHtml(choice)}</button>`,
  );
  const answer = '<label>Answer <textarea name="answer" rows="4" required></textarea></label>';
  const [text, send] = choices.length > 0 ? ['', inputs.join(' ')] : [answer, '<button>Send</button>'];
  const heading = `${escapeHtml(asked_by)}${step === null ? '' : ` (step ${escapeHtml(step)})`} asks:`;
  const until = `This form works once, until ${expires_at.slice(0, 16).replace('T', ' ')} UTC.`;
  return `<h1>${heading}</h1><p class="question">${escapeHtml(question.question)}</p>
${wrong === '' ? '' : `<p role="alert">${escapeHtml(wrong)}</p>`}
<form method="post">${text}<label>Comment (optional) <input name="comment" autocomplete="off"></label>
<p>${send}</p></form><p class="soft">${until}</p>`;
}

/**
 * Returns the page for an unknown, used or expired link, the same for all three, so that a used link reveals
 * nothing.
 */
function endedPage(): Response {
  return page(410, '<h1>This link no longer works</h1><p>The question was answered or has expired.</p>');
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}h1{font-size:1rem;font-weight:600}.question{white-space:pre-wrap;overflow-wrap:anywhere;font-size:1.25rem}label{display:block}input,textarea{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.4rem}button{font:inherit;padding:.5rem 1rem}.soft{opacity:.7}[role=alert]{color:#c00}';

function page(status: number, body: string): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>ContextRelay</title><style>${STYLE}</style><main>${body}</main></html>`;
  return new Response(html, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      // The form must arrive with the relay's own origin. With `no-referrer`, browsers send the origin
      // `null`, which the relay rejects.
      'Referrer-Policy': 'same-origin',
    },
  });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
