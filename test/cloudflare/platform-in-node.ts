import { createHash } from 'node:crypto';
import { registerHooks } from 'node:module';

/** Provides platform APIs that Node lacks, so the engine can run in this process while its objects run in workerd. */

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
