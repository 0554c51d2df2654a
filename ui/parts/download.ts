/**
 * Saves bytes as a file. A plain link cannot send the API key in a header, so the caller fetches the
 * bytes, and this function saves them from memory.
 */
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
  // Free the memory after ten seconds. The browser reads the blob when the download starts, so revoking the
  // address at once could break the download.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Returns a safe file name: no folders, no control characters, not empty. */
function safeName(name: string): string {
  const plain = name
    .replace(/[^\p{L}\p{N}._ -]/gu, '_')
    .replace(/^\.+/, '')
    .slice(0, 120);
  return plain || 'content';
}
