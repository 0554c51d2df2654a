/**
 * A write that is to last with another one, the commit point of what its maker does, which names it in `with`. Until then it may
 * be there or not, as the engine sees fit; once the commit point is acknowledged it is there for good. Where the commit point is
 * not written, because what it expects does not hold, or never comes, it is an orphan: its maker deletes it, or a sweep does.
 * An engine with transactions keeps it back and waits for its disk once for all of them. One without writes it at once.
 */
export interface Staged {
  readonly key: string;
}
