import { RelayError } from '../../base/errors.ts';
import { ANONYMOUS, type Caller, requireScope } from '../../domain/caller.ts';
import type { Keys } from '../../domain/keys/keys.ts';
import type { Operation } from '../../operations/operation.ts';

/** Who sends a request: the holder of the key, or nobody in particular. Throws for a key that is no good. */
export function keyAuthenticator(keys: Keys): (request: Request) => Promise<Caller> {
  return async (request) => {
    const header = request.headers.get('authorization');
    if (header === null) return ANONYMOUS;
    const secret = /^bearer +(\S+) *$/i.exec(header)?.[1];
    const caller = secret === undefined ? null : await keys.authenticate(secret);
    if (caller === null) throw new RelayError('unauthorized');
    return caller;
  };
}

/** The one place where a caller's scopes meet what an operation asks for. */
export function admit(caller: Caller, operation: Pick<Operation, 'scope' | 'byLink'>): void {
  if (operation.scope === null) return;
  if (caller === ANONYMOUS) {
    if (operation.byLink) return;
    throw new RelayError('unauthorized');
  }
  requireScope(caller, operation.scope);
}
