import { pointerUrl } from '../base/pointer-url.ts';
import type { Caller } from './caller.ts';
import type { Ground } from './ground.ts';
import { Pointers } from './pointers/pointers.ts';
import type { PointersApi } from './pointers/types.ts';
import type { Relay } from './relay.ts';

/** The domain, put together once for a store. */
export class House {
  readonly ground: Ground;
  readonly pointers: Pointers;

  constructor(ground: Ground) {
    this.ground = ground;
    this.pointers = new Pointers(ground);
  }

  /** The relay as one caller sees it. `base` is where its pointers can be reached: `https://relay.example`. */
  relay(caller: Caller, base: string): Relay {
    return {
      pointers: bindPointers(this.pointers, caller, base),
      // The store belongs to whoever opened it, not to one caller's view of it.
      [Symbol.asyncDispose]: async () => {},
    };
  }
}

function bindPointers(pointers: Pointers, caller: Caller, base: string): PointersApi {
  return {
    push: async (input) => {
      const { id, ...rest } = await pointers.push(caller, input);
      return { url: pointerUrl(base, id), id, ...rest };
    },
    pull: (id, o) => pointers.pull(caller, id, o),
    part: (id, part, o) => pointers.part(caller, id, part, o),
    cost: (id, part) => pointers.cost(caller, id, part),
    peek: (id) => pointers.peek(caller, id),
    delete: (id) => pointers.delete(caller, id),
  };
}
