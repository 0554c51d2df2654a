/** What a model's context of some 30 000 tokens weighs: the size that all payload figures are for. */
export const PAYLOAD_BYTES = 125_000;

/** Pushes a payload to measure pulls and peeks with, and answers its pull URL. */
export async function pushOne(serverUrl: string, bytes = PAYLOAD_BYTES): Promise<string> {
  const response = await fetch(`${serverUrl}/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      data: 'All happy relays are alike.\n'.repeat(Math.ceil(bytes / 28)).slice(0, bytes),
      metadata: { summary: 'a report on forty files', from: 'bench' },
    }),
  });
  if (!response.ok)
    throw new Error(`The push was answered with ${response.status}: ${await response.text()}`);
  const { id } = (await response.json()) as { id: string };
  return `${serverUrl}/pull/${id}`;
}
