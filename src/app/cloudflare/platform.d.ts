/** Globals and modules of the Workers platform that the DOM types lack. */

declare const WebSocketPair: typeof import('@cloudflare/workers-types').WebSocketPair;
declare const WebSocketRequestResponsePair: typeof import('@cloudflare/workers-types').WebSocketRequestResponsePair;

/** Bytes of the token table, which the build puts into a file next to the Worker. */
declare module 'relay:token-table' {
  const bytes: ArrayBuffer;
  export default bytes;
}

declare module 'cloudflare:workers' {
  import type { DurableObjectState } from '@cloudflare/workers-types';

  export class DurableObject<Bindings> {
    protected readonly ctx: DurableObjectState;
    protected readonly env: Bindings;
    constructor(state: DurableObjectState, bindings: Bindings);
  }
}
