/** Hands bytes to the browser to be saved. Links with a key in a header cannot be followed, so they come this way. */
export async function saveAs(
  name: string,
  body: Uint8Array | ReadableStream<Uint8Array>,
  type = 'application/octet-stream',
): Promise<void> {
  const bytes = await new Response(body as BodyInit).blob();
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = safeName(name);
  link.click();
  // The browser has taken it up by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** No folder, no control character, no name that says nothing. */
function safeName(name: string): string {
  const plain = name
    .replace(/[^\p{L}\p{N}._ -]/gu, '_')
    .replace(/^\.+/, '')
    .slice(0, 120);
  return plain || 'content';
}
