import { createHash } from 'node:crypto';
import { registerHooks } from 'node:module';

/** Lets the engine run in this process while its objects are in workerd: what the platform has and Node does not. */

const PLATFORM = 'export class DurableObject {} export const waitUntil = () => {};';

registerHooks({
  resolve: (name, context, next) =>
    name === 'cloudflare:workers'
      ? { url: `data:text/javascript,${encodeURIComponent(PLATFORM)}`, format: 'module', shortCircuit: true }
      : next(name, context),
});

class DigestStream extends WritableStream<Uint8Array> {
  readonly digest: Promise<ArrayBuffer>;

  constructor() {
    const hash = createHash('sha256');
    const { promise, resolve } = Promise.withResolvers<ArrayBuffer>();
    super({
      write: (piece) => void hash.update(piece),
      close: () => resolve(Uint8Array.from(hash.digest()).buffer),
    });
    this.digest = promise;
  }
}

Object.assign(crypto, { DigestStream });
