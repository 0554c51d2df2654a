import { isJsonObject, type Json, type JsonObject, jsonEqual } from '../../base/json.ts';
import type { JsonDocument, JsonPath } from '../../formats/json-document.ts';
import { digestDecisions, readDecisions, repeatedIds } from './decisions.ts';
import {
  conflictLine,
  DECISIONS_MD,
  type MergedCommits,
  type MergedFile,
  openJsonFile,
  PROJECT_FILES,
  PROJECT_MD,
  type ProjectFiles,
  type ProjectGit,
  type Sides,
  STATE_JSON,
  sidesOf,
  TODOS_JSON,
  timeOf,
} from './files.ts';
import { readHandoffs } from './state.ts';
import { readTodos } from './todos.ts';

export type WrittenMerge = Awaited<ReturnType<typeof mergeFolder>>;

/**
 * Merges the project files in a folder that have git conflicts or repeated numbers. Marks the merged files as
 * resolved in git.
 */
export async function mergeFolder(files: ProjectFiles, git: ProjectGit) {
  const now: { [name: string]: string } = {};
  for (const name of PROJECT_FILES) now[name] = (await files.read(name))?.text ?? '';
  const isOpen = (name: string) =>
    conflictLine(now[name]!) !== null || repeatedIn(name, now[name]!).length > 0;
  if (!PROJECT_FILES.some(isOpen)) return { written: [], conflicts: [], renumbered: [] };
  const under = await git.merging();
  const sides: { [Name in ProjectFileName]?: Sides } = {};
  for (const name of PROJECT_FILES) {
    if (under) sides[name] = await committedSides(git, under, name);
    else if (isOpen(name))
      sides[name] =
        conflictLine(now[name]!) === null ? sidesOfRepeated(name, now[name]!) : sidesOf(now[name]!);
  }
  const { files: merged, renumbered } = await mergeProject(sides, (lines) => git.mergeLines(lines));
  const written: string[] = [];
  /** Written files that have conflict markers, because both sides changed the same lines. */
  const conflicts: string[] = [];
  for (const name of PROJECT_FILES) {
    const file = merged[name];
    // If git merged the file by itself, write it only if entries got new numbers.
    if (!file || !(isOpen(name) || renumbered.length > 0) || file.text === now[name]) continue;
    await files.write(name, file.text);
    written.push(name);
    if (file.conflict) conflicts.push(name);
  }
  if (under) await git.resolved(written.filter((name) => !conflicts.includes(name)));
  return { written, conflicts, renumbered };
}

/**
 * Merges one file. git calls this once per file. The other project files are read too: their entries may get
 * new numbers, and this file may refer to them.
 */
export async function mergeOne(git: ProjectGit, name: ProjectFileName, own: Sides): Promise<MergedFile> {
  const under = await git.merging();
  const sides: { [Name in ProjectFileName]?: Sides } = {};
  for (const other of under ? PROJECT_FILES : []) sides[other] = await committedSides(git, under!, other);
  sides[name] = own;
  const { files } = await mergeProject(sides, (lines) => git.mergeLines(lines));
  return files[name]!;
}

/** Returns the three texts of a project file in the commits that are being merged. */
async function committedSides(git: ProjectGit, commits: MergedCommits, name: string): Promise<Sides> {
  const textIn = (commit: string | null) => (commit === null ? '' : git.textIn(commit, name));
  return {
    base: await textIn(commits.base),
    ours: await textIn(commits.ours),
    theirs: await textIn(commits.theirs),
  };
}

function repeatedIn(name: string, text: string): string[] {
  if (conflictLine(text) !== null || text.trim() === '') return [];
  if (name === DECISIONS_MD) return repeatedIds(readDecisions(text));
  return name === TODOS_JSON ? repeatedIds(readTodos(openJsonFile(name, text))) : [];
}

/**
 * Splits a file with repeated numbers into two texts, as if two branches had written it. If two entries have the same
 * number, each text gets one of the two entries.
 */
function sidesOfRepeated(name: string, text: string): Sides {
  const repeated = repeatedIn(name, text);
  const without = (drop: (isFirst: boolean) => boolean) => {
    const seen = new Set<string>();
    const isDropped = (id: string) => repeated.includes(id) && drop(seen.size !== seen.add(id).size);
    if (name === TODOS_JSON) {
      const doc = openJsonFile(name, text);
      const dropped = readTodos(doc).flatMap(({ id }, index) => (isDropped(id) ? [index] : []));
      for (const index of dropped.reverse()) doc.remove(['todos', index]);
      return doc.text;
    }
    const lines = text.split(/\r\n|\n|\r/);
    for (const { id, line, text: record } of readDecisions(text)) {
      if (isDropped(id)) lines.fill('', line - 1, line - 1 + record.split('\n').length);
    }
    return lines.join('\n');
  };
  return {
    base: without(() => true),
    ours: without((isFirst) => !isFirst),
    theirs: without((isFirst) => isFirst),
  };
}

type ProjectFileName = (typeof PROJECT_FILES)[number];
/** Texts of the files that are merged, and of other files whose numbers matter for the merge. */
export type ProjectSides = { readonly [Name in ProjectFileName]?: Sides };

/**
 * Merges the project files of two branches. If both branches gave the same number to different entries, one of these
 * entries gets a new number, and all references to this entry are changed.
 */
export async function mergeProject(sides: ProjectSides, mergeLines: ProjectGit['mergeLines']) {
  const plans = [
    await planNumbers(sides[DECISIONS_MD], 'ADR', decisionNumbers),
    await planNumbers(sides[TODOS_JSON], 'TODO', todoNumbers),
    await planNumbers(sides[STATE_JSON], 'HANDOFF', handoffNumbers),
  ];
  const [base, ours, theirs] = (['base', 'ours', 'theirs'] as const).map(
    (side) => new Map(plans.flatMap((plan) => [...plan[side]])),
  ) as [Map<string, string>, Map<string, string>, Map<string, string>];
  const files: { [Name in ProjectFileName]?: MergedFile } = {};
  for (const name of PROJECT_FILES) {
    const file = sides[name];
    if (!file) continue;
    const numbered = {
      base: withNumbers(file.base, base),
      ours: withNumbers(file.ours, ours),
      theirs: withNumbers(file.theirs, theirs),
    };
    files[name] = await mergeFile(name, numbered, mergeLines);
  }
  /** Lists new numbers, such as `TODO-012 → TODO-014`, and the side whose entries get them. */
  const changes = (side: 'ours' | 'theirs', moved: ReadonlyMap<string, string>) =>
    [...moved].map(([from, to]) => ({ side, from, to }));
  return { files, renumbered: [...changes('ours', ours), ...changes('theirs', theirs)] };
}

async function mergeFile(name: ProjectFileName, sides: Sides, mergeLines: ProjectGit['mergeLines']) {
  if (name === PROJECT_MD) return mergeLines(sides);
  if (name !== DECISIONS_MD) return { text: mergeJsonFile(name, sides), conflict: false };
  const text = mergeDecisions(sides);
  return text === null ? mergeLines(sides) : { text, conflict: false };
}

type Numbers = (text: string) => Numbered[] | Promise<Numbered[]>;

async function planNumbers(sides: Sides | undefined, prefix: string, numbers: Numbers): Promise<Renumbering> {
  if (!sides) return { base: new Map(), ours: new Map(), theirs: new Map() };
  return renumber(prefix, await numbers(sides.base), await numbers(sides.ours), await numbers(sides.theirs));
}

async function decisionNumbers(text: string): Promise<Numbered[]> {
  const digests = await digestDecisions(text);
  return readDecisions(text).map(({ id, title, date }, index) => ({
    id,
    content: digests[index]!.unnumbered,
    origin: title,
    at: timeOf(date) ?? 0,
  }));
}

function todoNumbers(text: string): Numbered[] {
  const todos = text.trim() === '' ? [] : readTodos(openJsonFile(TODOS_JSON, text));
  return todos.map(({ id, title, created }) => numbered(id, title, created));
}

function handoffNumbers(text: string): Numbered[] {
  const handoffs = text.trim() === '' ? [] : readHandoffs(openJsonFile(STATE_JSON, text));
  return handoffs.map(({ id, task, created }) => numbered(id, task, created));
}

/**
 * Describes an entry for `renumber`. Two entries with the same number and creation time are the same entry,
 * even if the text was edited. An entry without a creation time is recognized by its text.
 */
function numbered(id: string, text: string, created: string | null): Numbered {
  return { id, content: `${created ?? ''}\n${text}`, origin: created ?? text, at: timeOf(created) ?? 0 };
}

/**
 * Joins the records of both sides, whose numbers are already unique. Returns null if both sides changed the
 * same record, or the text before the records, in different ways.
 */
function mergeDecisions({ base, ours, theirs }: Sides): string | null {
  const [before, our, their] = [base, ours, theirs].map(parseDecisions) as [
    ParsedDecisions,
    ParsedDecisions,
    ParsedDecisions,
  ];
  const head = pick(before.head, our.head, their.head);
  if (head === null) return null;
  const records: { readonly number: number; readonly text: string }[] = [];
  for (const id of new Set([...our.records.keys(), ...their.records.keys()])) {
    const text = pick(before.records.get(id) ?? '', our.records.get(id) ?? '', their.records.get(id) ?? '');
    if (text === null) return null;
    if (text !== '') records.push({ number: numberOf(id), text });
  }
  const numbers = [...our.records.keys()].map(numberOf);
  const inOrder = numbers.every((number, index) => index === 0 || number > numbers[index - 1]!);
  if (inOrder) records.sort((a, b) => a.number - b.number);
  const eol = /\r\n|\n|\r/.exec(ours)?.[0] ?? '\n';
  const parts = [head, ...records.map(({ text }) => text)].filter((part) => part.trim() !== '');
  return `${parts.join('\n\n').replaceAll('\n', eol)}${eol}`;
}

type ParsedDecisions = ReturnType<typeof parseDecisions>;

/** Splits the text into the part before the first record, and the records by id. */
function parseDecisions(text: string) {
  const plain = text.replace(/\r\n?/g, '\n');
  const records = readDecisions(plain);
  const first = records[0]?.line ?? Number.POSITIVE_INFINITY;
  const head = plain
    .split('\n')
    .slice(0, first - 1)
    .join('\n')
    .trimEnd();
  return { head, records: new Map(records.map((record) => [record.id, record.text.trimEnd()])) };
}

/**
 * Returns the text of the side that changed the base text. Returns null if both sides changed it and their
 * texts differ.
 */
function pick(base: string, ours: string, theirs: string): string | null {
  if (ours === theirs || theirs === base) return ours;
  if (ours === base) return theirs;
  return null;
}

type Value = Json | undefined;

/**
 * Merges a JSON file field by field. The entries of both sides' lists are put into one list, and entries with
 * the same `id` are merged. If both sides changed a value, the later update wins. The formatting of our side
 * stays.
 */
function mergeJsonFile(file: string, { base, ours, theirs }: Sides): string {
  const parsed = (text: string) => (text.trim() === '' ? {} : openJsonFile(file, text).get()!);
  if (ours.trim() === '') return theirs;
  const doc = openJsonFile(file, ours);
  change(doc, [], merge(parsed(base), doc.get(), parsed(theirs), false));
  return doc.text;
}

function merge(base: Value, ours: Value, theirs: Value, theirsLater: boolean): Value {
  if (jsonEqual(ours, theirs) || jsonEqual(base, theirs)) return ours;
  if (jsonEqual(base, ours)) return theirs;
  if (isJsonObject(ours) && isJsonObject(theirs)) {
    return mergeObjects(isJsonObject(base) ? base : {}, ours, theirs, theirsLater);
  }
  if (Array.isArray(ours) && Array.isArray(theirs)) {
    return mergeLists(Array.isArray(base) ? base : [], ours, theirs, theirsLater);
  }
  // If one side removed a value and the other side changed it, keep the changed value.
  if (ours === undefined || theirs === undefined) return ours ?? theirs;
  const [ourTime, theirTime] = [timeOf(ours), timeOf(theirs)];
  if (ourTime !== null && theirTime !== null) return theirTime > ourTime ? theirs : ours;
  return theirsLater ? theirs : ours;
}

function mergeObjects(base: JsonObject, ours: JsonObject, theirs: JsonObject, inherited: boolean) {
  const theirsLater = isUpdatedLater(theirs, ours) ?? inherited;
  const merged: { [key: string]: Json } = {};
  for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const both = [ours[key], theirs[key]];
    const notes = key === 'notes' && both.every((text) => typeof text === 'string' && text !== base[key]);
    const value = notes
      ? joined(...(both as [string, string]))
      : merge(base[key], ours[key], theirs[key], theirsLater);
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

/** Returns whether `a` was updated after `b`. Returns undefined if one of them has no time. */
function isUpdatedLater(a: JsonObject, b: JsonObject): boolean | undefined {
  const at = (value: JsonObject) => timeOf(value.updated ?? value.last_update);
  const [first, second] = [at(a), at(b)];
  return first === null || second === null ? undefined : first > second;
}

function joined(ours: string, theirs: string): string {
  if (ours.includes(theirs)) return ours;
  return theirs.includes(ours) ? theirs : `${ours}\n${theirs}`;
}

/**
 * Merges two lists. The items of our side come first, in our order. Items that only the other side has added
 * or changed follow.
 */
function mergeLists(base: Json[], ours: Json[], theirs: Json[], theirsLater: boolean): Json[] {
  const at = (list: readonly Json[], item: Json): Value => list.find((other) => keyOf(other) === keyOf(item));
  const merged = ours.flatMap((item) => {
    const value = merge(at(base, item), item, at(theirs, item), theirsLater);
    return value === undefined ? [] : [value];
  });
  const fresh = theirs.filter((item) => {
    const original = at(base, item);
    return at(ours, item) === undefined && (original === undefined || !jsonEqual(original, item));
  });
  return [...merged, ...fresh];
}

function keyOf(item: Json): string {
  return JSON.stringify(isJsonObject(item) && typeof item.id === 'string' ? { id: item.id } : item);
}

/** Changes the document only where it differs from `value`. The rest keeps its formatting. */
function change(doc: JsonDocument, path: JsonPath, value: Value): void {
  const now = doc.get(path);
  if (jsonEqual(now, value)) return;
  if (isJsonObject(now) && isJsonObject(value)) {
    for (const key of Object.keys(now)) if (!(key in value)) doc.remove([...path, key]);
    for (const [key, member] of Object.entries(value)) change(doc, [...path, key], member);
  } else if (Array.isArray(now) && Array.isArray(value)) {
    for (let index = now.length - 1; index >= value.length; index--) doc.remove([...path, index]);
    value.forEach((item, index) => {
      if (index < now.length) change(doc, [...path, index], item);
      else doc.append(path, item);
    });
  } else if (value !== undefined) doc.set(path, value);
}

/** A decision, a todo or a hand-off that has a number, with the data that identifies it. */
interface Numbered {
  readonly id: string;
  /**
   * Text that identifies the entry. Entries with the same content are the same entry, even if their numbers
   * differ.
   */
  readonly content: string;
  /**
   * Data that stays the same when the entry is edited, such as its creation time. Entries with the same id
   * and origin are the same entry, even if their content differs.
   */
  readonly origin: string;
  /** Creation time in ms. If two entries have the same number, the older entry keeps the number. */
  readonly at: number;
}

type Renumbering = ReturnType<typeof renumber>;

/**
 * Resolves numbers that two branches gave to different entries. The side with the older entry keeps its numbers. On
 * the other side, the clashing entry and all new entries after it get the next free numbers. The new entries after
 * it also move, because they may refer to the clashing entry. Swapping the sides gives the same result.
 */
function renumber(
  prefix: string,
  base: readonly Numbered[],
  ourEntries: readonly Numbered[],
  theirEntries: readonly Numbered[],
) {
  const branch = (all: readonly Numbered[]): Branch => ({
    all,
    fresh: all.filter((entry) => !base.some((other) => isSame(entry, other))),
  });
  const compare = (branch: Branch, other: Branch) => {
    const { all, fresh } = branch;
    // If an earlier merge gave an entry a new number on the other side, use the new number on this side too.
    const moved = movedEarlier(base, branch, other);
    const alone = fresh.filter(({ content }) => !other.fresh.some((each) => each.content === content));
    const shared = all.filter((entry) => !alone.includes(entry)).map(({ id }) => moved.get(id) ?? id);
    return { all, moved, alone, shared };
  };
  const [us, them] = [branch(ourEntries), branch(theirEntries)];
  const [ours, theirs] = [compare(us, them), compare(them, us)];
  const shared = new Set([...ours.shared, ...theirs.shared]);
  const clash = ({ alone }: typeof ours, other: typeof ours) =>
    alone.filter(({ id }) => shared.has(id) || other.alone.some((each) => each.id === id));
  // If both sides gave one number to different entries, the entry of the side `keeps` keeps the number. Exception:
  // if an entry that exists on both sides has this number, the entry of `keeps` gets a new number too.
  const theirsLater = isLater(clash(theirs, ours)[0], clash(ours, theirs)[0]);
  const [keeps, yields] = theirsLater ? [ours, theirs] : [theirs, ours];
  const next = numbersAfter(prefix, [...base, ...ourEntries, ...theirEntries]);
  const renumberings = [
    [keeps, keeps.alone.find(({ id }) => shared.has(id))],
    [yields, clash(yields, keeps)[0]],
  ] as const;
  for (const [{ alone, moved }, first] of renumberings)
    if (first) for (const { id } of alone.slice(alone.indexOf(first))) moved.set(id, next());
  /** New number of each entry of the base, by its number in the base. */
  const before = new Map<string, string>();
  for (const { all, moved } of [theirs, ours])
    for (const entry of base) {
      const there = all.find((other) => isSame(other, entry));
      if (there) before.set(entry.id, moved.get(there.id) ?? there.id);
    }
  return { base: before, ours: ours.moved, theirs: theirs.moved };
}

/** All entries of a branch, and the entries among them that the base does not have. */
interface Branch {
  readonly all: readonly Numbered[];
  readonly fresh: readonly Numbered[];
}

/**
 * Finds entries of `side` that got a new number on the other side after the base. Returns a map from old to
 * new numbers.
 */
function movedEarlier(base: readonly Numbered[], side: Branch, other: Branch) {
  const moved = new Map<string, string>();
  for (const entry of side.all) {
    const there = other.all.find((each) => each.content === entry.content);
    if (!there || there.id === entry.id) continue;
    const original = base.find((each) => each.content === entry.content);
    const renumberedThere = original
      ? original.id === entry.id
      : side.fresh.includes(entry) && other.fresh.includes(there);
    if (renumberedThere && (original || numberOf(there.id) < numberOf(entry.id)))
      moved.set(entry.id, there.id);
  }
  return moved;
}

/** Returns whether two entries are versions of the same entry. */
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

/** Replaces all old numbers in a text with the new ones. */
function withNumbers(text: string, moved: ReadonlyMap<string, string>): string {
  return text.replace(/\b(?:ADR|TODO|HANDOFF)-\d+\b/g, (id) => moved.get(id) ?? id);
}
