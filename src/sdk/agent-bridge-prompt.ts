import { OUTCOME_INSTRUCTION, OUTCOME_REQUEST } from '../base/outcome.ts';

/** Both end with the task's id, by which a runner knows them again on a screen. */
const ending = (id: string) => `(relay task ${id})`;

/** The task as it was sent, and the request for an outcome block behind it. */
export function wholePrompt({ id, text }: { id: string; text: string }): string {
  return `${text}\n\n---\n${OUTCOME_INSTRUCTION}\n${ending(id)}`;
}

/**
 * One line, however long the task: terminals submit line by line. The command that brings the result needs no reading of
 * the screen; the block is for agents that cannot run it.
 */
export function pointerPrompt(o: { id: string; url: string; command: string }): string {
  const { id, url, command } = o;
  return (
    `You have a task. Read it with: ${command} pull "${url}" - then do it. ` +
    `When you have finished, run: ${command} task done ${id} "what you did, what is left, what to know" - ` +
    `or, if you cannot run commands, ${OUTCOME_REQUEST} ${ending(id)}`
  );
}
