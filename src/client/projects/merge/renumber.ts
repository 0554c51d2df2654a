/** A decision, a todo or a hand-off, as far as its number is concerned. */
export interface Numbered {
  readonly id: string;
  /** The same for the same entry under another number. */
  readonly content: string;
  /** The same for an entry that was changed but kept its number. */
  readonly origin: string;
  /** When it was made; orders two that have the same number. */
  readonly at: number;
}

export interface Renumbering {
  /** Where an earlier merge renumbered what both sides began with. */
  readonly base: ReadonlyMap<string, string>;
  readonly ours: ReadonlyMap<string, string>;
  readonly theirs: ReadonlyMap<string, string>;
}

/**
 * Two branches may give the same number to two entries. The side whose entry is the older one keeps its numbers; on the other
 * side that entry and all new ones after it, which may refer to it, get the next free numbers. Which side is merged into
 * which does not matter.
 */
export function renumber(
  prefix: string,
  base: readonly Numbered[],
  ours: readonly Numbered[],
  theirs: readonly Numbered[],
): Renumbering {
  const oursNew = ours.filter((entry) => !base.some((other) => isSame(entry, other)));
  const theirsNew = theirs.filter((entry) => !base.some((other) => isSame(entry, other)));
  // What one side has under another number already, from an earlier merge, is followed by the other side.
  const moved = {
    ours: followed(base, ours, theirs, theirsNew, oursNew),
    theirs: followed(base, theirs, ours, oursNew, theirsNew),
  };
  const oursAlone = oursNew.filter(({ content }) => !theirsNew.some((other) => other.content === content));
  const theirsAlone = theirsNew.filter(({ content }) => !oursNew.some((other) => other.content === content));
  const taken = (side: readonly Numbered[], alone: readonly Numbered[], map: ReadonlyMap<string, string>) =>
    side.filter((entry) => !alone.includes(entry)).map(({ id }) => map.get(id) ?? id);
  const common = new Set([
    ...taken(ours, oursAlone, moved.ours),
    ...taken(theirs, theirsAlone, moved.theirs),
  ]);
  const clash = (alone: readonly Numbered[], others: readonly Numbered[]) =>
    alone.filter(({ id }) => common.has(id) || others.some((other) => other.id === id));
  const oursClash = clash(oursAlone, theirsAlone);
  const theirsClash = clash(theirsAlone, oursAlone);
  const theirsLater = isLater(theirsClash[0], oursClash[0]);
  const next = numbersAfter(prefix, [...base, ...ours, ...theirs]);
  // The side that keeps its numbers gives way only to what both sides have.
  const keeps = theirsLater ? 'ours' : 'theirs';
  for (const side of [keeps, keeps === 'ours' ? 'theirs' : 'ours'] as const) {
    const alone = side === 'ours' ? oursAlone : theirsAlone;
    const clashing = side === 'ours' ? oursClash : theirsClash;
    const first = (side === keeps ? clashing.filter(({ id }) => common.has(id)) : clashing)[0];
    if (first) for (const { id } of alone.slice(alone.indexOf(first))) moved[side].set(id, next());
  }
  const before = new Map<string, string>();
  for (const entry of base) {
    const [side, now] = [ours, theirs].flatMap((list, index) => {
      const there = list.find((other) => isSame(other, entry));
      return there ? [index === 0 ? moved.ours : moved.theirs, there.id] : [];
    }) as [Map<string, string>?, string?];
    if (side && now) before.set(entry.id, side.get(now) ?? now);
  }
  return { base: before, ...moved };
}

/** Numbers of this side's entries that the other side, since they parted, has under another number. */
function followed(
  base: readonly Numbered[],
  side: readonly Numbered[],
  other: readonly Numbered[],
  otherNew: readonly Numbered[],
  sideNew: readonly Numbered[],
): Map<string, string> {
  const moved = new Map<string, string>();
  for (const entry of side) {
    const there = other.find((each) => each.content === entry.content);
    if (!there || there.id === entry.id) continue;
    const known = base.find((each) => each.content === entry.content);
    const renumberedThere = known
      ? known.id === entry.id
      : sideNew.includes(entry) && otherNew.includes(there);
    if (renumberedThere && (known || numberOf(there.id) < numberOf(entry.id))) moved.set(entry.id, there.id);
  }
  return moved;
}

/** Whether an entry is one that both sides began with. */
function isSame(a: Numbered, b: Numbered): boolean {
  return a.content === b.content || (a.id === b.id && a.origin === b.origin);
}

function isLater(a: Numbered | undefined, b: Numbered | undefined): boolean {
  if (!a || !b) return a !== undefined;
  return a.at === b.at ? a.content > b.content : a.at > b.at;
}

function numbersAfter(prefix: string, entries: readonly Numbered[]): () => string {
  let last = Math.max(0, ...entries.map(({ id }) => numberOf(id)));
  return () => `${prefix}-${String(++last).padStart(3, '0')}`;
}

function numberOf(id: string): number {
  return Number(/\d+$/.exec(id)?.[0] ?? 0);
}

/** A text in which every reference follows its entry. */
export function withNumbers(text: string, moved: ReadonlyMap<string, string>): string {
  return text.replace(/\b(?:ADR|TODO|HANDOFF)-\d+\b/g, (id) => moved.get(id) ?? id);
}
