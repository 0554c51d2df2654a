/**
 * The same bytes, and `told` how many of them were read once that is over: at the end, or when the reader went away.
 * Nobody is told of a stream that nobody read.
 */
export function measured(
  source: ReadableStream<Uint8Array>,
  told: (bytes: number) => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let bytes = 0;
  const end = () => {
    if (bytes > 0) told(bytes);
    bytes = 0;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            end();
            controller.close();
            return;
          }
          bytes += value.byteLength;
          controller.enqueue(value);
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
