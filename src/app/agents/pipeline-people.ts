import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ignore, RelayError } from '../../base/errors.ts';
import { NOTIFY_MS, SECRET_BYTES } from '../../base/limits.ts';
import type { Notify, Secret } from '../../client/pipelines/definition.ts';
import type { RunQuestion } from '../../client/pipelines/step-work.ts';
import type { AskedQuestion } from '../../contract/questions.ts';
import type { Relay } from '../../contract/relay.ts';
import { runSupervised, Tail } from '../../runners/processes.ts';
import { waitForAnswer } from '../../sdk/ask.ts';
import type { Environment } from '../config.ts';

interface Place {
  readonly env: Environment;
  readonly cwd: string;
  warn?(text: string): void;
}

/**
 * Returns a function that asks a person a question of a run and waits for the answer. If the run stops, the
 * question stays open, and resuming the run notifies people again.
 */
export function personAsker({ questions, channels }: Relay, place: Place) {
  return async (question: RunQuestion): Promise<AskedQuestion> => {
    const { run, step, key, timeoutMs, notify, signal, choices, who } = question;
    const posted = await questions.ask({
      question: question.question,
      choices,
      who,
      thread_id: run,
      step,
      idempotency_key: key,
      ...(question.default === undefined ? {} : { default: question.default }),
      ...(timeoutMs === undefined ? {} : { expires_in: Math.max(1, timeoutMs / 1000) }),
    });
    if (posted.status !== 'open') return waitForAnswer(questions, posted, signal);
    // There is no link if the scope `answer` is missing or the question was already answered. Continue without a
    // link.
    const link = await questions.link(posted.id).catch(ignore('forbidden', 'conflict'));
    question.onAsked(posted, link?.url ?? null);
    if (notify) await announce(posted, link?.url ?? '', notify, { channels }, place);
    return waitForAnswer(questions, posted, signal);
  };
}

/**
 * Notifies people of a question. A failure is only a warning, because people can find the question in other
 * ways.
 */
async function announce(
  { id, question, choices, thread_id, step }: AskedQuestion,
  link: string,
  { command, webhook, channel }: Notify,
  { channels }: Pick<Relay, 'channels'>,
  { env, cwd, warn }: Place,
): Promise<void> {
  const message = { kind: 'question', id, question, choices: [...choices], run: thread_id, step, link };
  const signal = AbortSignal.timeout(NOTIFY_MS);
  const warnOf = (way: keyof Notify) => (error: Error) =>
    warn?.(`The ${way} of "notify" failed: ${error.message}`);
  if (command !== undefined) {
    // The command gets the question in environment variables: in a command line, the shell would interpret
    // the text.
    const variables = {
      RELAY_QUESTION_ID: id,
      RELAY_QUESTION: question,
      RELAY_QUESTION_CHOICES: choices.join(','),
      RELAY_QUESTION_LINK: link,
      RELAY_THREAD: thread_id ?? '',
      RELAY_STEP_ID: step ?? '',
    };
    await runNotify(command, { env: { ...env, ...variables }, cwd, signal }).catch(warnOf('command'));
  }
  if (webhook !== undefined) await postNotify(webhook, message, signal).catch(warnOf('webhook'));
  // Announce the question without its link: everybody may read a channel, and anyone with the link could answer.
  if (channel !== undefined)
    await channels.publish(channel, { ...message, link: '' }).catch(warnOf('channel'));
}

async function runNotify(command: string, o: Parameters<typeof runSupervised>[1]): Promise<void> {
  const { code } = await runSupervised({ command }, o);
  if (code !== 0) throw new Error(`exit code ${code}`);
}

async function postNotify(url: string, message: object, signal: AbortSignal): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify(message);
  const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
}

/** Returns a function that reads a secret from the environment, a file or a command. */
export function secretReader({ env, cwd }: Place) {
  return async (name: string, { env: variable, file, command }: Secret): Promise<string> => {
    const fail = (what: string) =>
      new RelayError('failed', { what: `The secret ${name} is missing: ${what}.` });
    if (variable !== undefined) {
      const value = env[variable];
      if (value) return value;
      throw fail(`${variable} is not set`);
    }
    if (file !== undefined) {
      const text = await readFile(resolve(cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw fail(`${file} cannot be read (${error.code})`);
      });
      if (text.length <= SECRET_BYTES && text.trim() !== '') return text.replace(/\r?\n$/, '');
      throw fail(`${file} is empty or longer than ${SECRET_BYTES} bytes`);
    }
    const output = new Tail(SECRET_BYTES);
    const signal = AbortSignal.timeout(NOTIFY_MS);
    const onOutput = (chunk: Uint8Array) => output.add(chunk);
    const { code } = await runSupervised({ command: command! }, { env, cwd, signal, onOutput });
    const text = output.text().replace(/\r?\n$/, '');
    if (code !== 0) throw fail(`its command ended with exit code ${code}`);
    if (text === '') throw fail('its command printed nothing');
    return text;
  };
}
