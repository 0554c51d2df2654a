/** Says how to let go of a key again; calls `end` when it no longer works. */
export type Hold = (end: () => void) => () => void;

/** A stream, ended when the key it was opened with no longer works. Whoever makes it is told as if its reader had gone. */
export function endingWithKey(response: Response, hold: Hold): Response {
  const { body, status, statusText, headers } = response;
  if (body === null || !headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const reader = body.getReader();
  let letGo = () => {};
  const bound = new ReadableStream<Uint8Array>({
    start(controller) {
      letGo = hold(() => {
        controller.close();
        reader.cancel().catch(() => {});
      });
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        letGo();
        controller.close();
      } catch (error) {
        letGo();
        controller.error(error);
      }
    },
    cancel(reason) {
      letGo();
      return reader.cancel(reason);
    },
  });
  return new Response(bound, { status, statusText, headers });
}
