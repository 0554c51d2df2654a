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

/**
 * Returns CSV. Quotes fields where needed. Puts an apostrophe before a text that a spreadsheet would treat
 * as a formula.
 */
export function csvText(names: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const field = (value: string | number) => {
    const text = String(value);
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}
