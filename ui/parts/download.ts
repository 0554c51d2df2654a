/** Saves bytes as a file. A link cannot send the API key in a header, so downloads are done this way. */
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
  // After ten seconds the browser has started the download.
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

/** Returns CSV. Quotes fields where needed, and prefixes an apostrophe to what a spreadsheet would treat as a formula. */
export function csvText(names: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const field = (value: string | number) => {
    const text = String(value);
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}
