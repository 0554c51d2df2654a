/** The whole body as text. Invalid bytes become U+FFFD; whoever must know has looked before. */
export async function readText(body: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
