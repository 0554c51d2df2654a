import { AUTO_COMPACT_ACTIONS, AUTO_COMPACT_REFS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { CompactAnswer } from '../../contract/threads/answers.ts';
import type { Ground } from '../ground.ts';
import { asJson } from '../records.ts';
import { compaction } from './compaction.ts';
import type { StoredEvent } from './event.ts';
import { type Head, stampFor } from './fold.ts';
import { metaKey } from './keys.ts';
import { patchState } from './state.ts';
import type { ThreadLog } from './thread-log.ts';
import { versionRef } from './version.ts';

/** While a state stays too long whatever is done, it is not looked through after every event. */
const LOOK_EVERY = 50;

/** Compacts states, when asked and by itself. A compaction is an event with operations, and makes a version. */
export class Compactor {
  readonly #ground: Ground;
  readonly #log: ThreadLog;

  constructor(ground: Ground, log: ThreadLog) {
    this.#ground = ground;
    this.#log = log;
    log.follow((head, event) => {
      if (event.type !== 'checkpoint.created' && isLong(head)) this.#byItself(head.id);
    });
  }

  compact(caller: Caller, id: string): Promise<CompactAnswer> {
    return this.#log.commit<CompactAnswer>(caller, id, (head) => {
      const found = compaction(head.state);
      if (!found) return { done: answer(head.version, { actions: 0, artifacts: 0 }) };
      const version = head.version + 1;
      const ops = asJson(found.ops);
      const payload = { version, by: caller.name, ops, dropped: { ...found.dropped } };
      const event: StoredEvent = { type: 'checkpoint.created', at: this.#ground.env.now(), payload };
      const ready = patchState(head, ops, stampFor(head, event));
      return { event, ready, answer: () => answer(version, found.dropped) };
    });
  }

  #byItself(id: string): void {
    this.#log.background.run(async () => {
      const tenant = (await this.#log.metas.get(metaKey(id)))?.value.tenant;
      if (tenant !== undefined) await this.compact({ tenant, keyId: 'relay', name: 'relay', scopes: [] }, id);
    });
  }
}

function isLong({ state, count }: Head): boolean {
  const long = state.last_actions.length > AUTO_COMPACT_ACTIONS || state.artifacts.length > AUTO_COMPACT_REFS;
  return long && count % LOOK_EVERY === 0;
}

function answer(version: number, dropped: CompactAnswer['dropped']): CompactAnswer {
  return { version, state_ref: versionRef(version), dropped };
}
