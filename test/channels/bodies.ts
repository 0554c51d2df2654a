import type { Relay } from '../../src/contract/relay.ts';

/** Reads the whole payload. */
export async function pull(relay: Relay, id: string): Promise<Uint8Array> {
  const { body } = await relay.pointers.pull(id);
  if (body instanceof Uint8Array) return body;
  return new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
}
