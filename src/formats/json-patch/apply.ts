import { RelayError } from '../../base/errors.ts';
import { isJsonObject, isTooDeep, type Json, type JsonObject, joinPath, parsePath } from '../../base/json.ts';
import { JSON_DEPTH } from '../../base/limits.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import { Draft, PatchProblem } from './draft.ts';
import { jsonEqual } from './equal.ts';

export interface PatchOp {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

interface PatchOptions {
  /** Says why a place must not be written to; nothing where it may. */
  readonly guard?: (segments: readonly string[]) => string | undefined;
  /** Bytes of the document as JSON, where known; otherwise it is measured. */
  readonly bytes?: number;
  /** What the document may take at the end. In between it may take twice as much. */
  readonly maxBytes?: number;
  /** Refuses a patch that takes too many steps: roughly its operations times the size of what they copy. */
  readonly meter?: WorkMeter;
}

export interface Patched {
  readonly doc: Json;
  readonly bytes: number;
  /** First segment → the children that were written to, or `all`. */
  readonly touched: ReadonlyMap<string, Set<object> | 'all'>;
}

/**
 * RFC 6902, whole and atomic: the document given is never changed, and what no operation touched is shared with the
 * result. Refusals name the operation's index and path.
 */
export function applyPatch(doc: Json, ops: unknown, o: PatchOptions = {}): Patched {
  if (!Array.isArray(ops)) {
    throw new RelayError('bad_request', { what: 'A patch is a JSON array of operations.' });
  }
  const draft = new Draft(doc, o.bytes, o.meter ?? new WorkMeter());
  for (const [index, raw] of ops.entries()) {
    const operation = isJsonObject(raw) ? raw : {};
    const where = { index, op: shown(operation.op), path: shown(operation.path) };
    try {
      if (!applyOperation(draft, operation, o.guard)) throw new RelayError('patch_test_failed', where);
      if (o.maxBytes !== undefined && draft.bytes > 2 * o.maxBytes) {
        throw new PatchProblem(`the document would grow beyond ${o.maxBytes} bytes`);
      }
    } catch (error) {
      if (!(error instanceof PatchProblem)) throw error;
      throw new RelayError('bad_patch', { ...where, what: error.message });
    }
  }
  return { doc: draft.root, bytes: draft.bytes, touched: draft.touched };
}

/** False where the operation is a `test` that does not hold. Throws a `PatchProblem`. */
function applyOperation(draft: Draft, operation: JsonObject, guard: PatchOptions['guard']): boolean {
  const { op } = operation;
  const path = pathIn(operation, 'path');
  const guarded = (place: string[]) => {
    const reason = guard?.(place);
    if (reason) throw new PatchProblem(reason);
  };
  if (op === 'test') return jsonEqual(found(draft, path, 'path'), valueIn(operation));
  if (op === 'copy' || op === 'move') {
    const from = pathIn(operation, 'from');
    guarded(path);
    if (op === 'move') guarded(from);
    const value = found(draft, from, 'from');
    if (op === 'copy') draft.share(value);
    if (op === 'move') {
      const within = from.every((segment, i) => segment === path[i]);
      if (within && path.length > from.length) throw new PatchProblem('a value cannot be moved into itself');
      if (within) return true;
      draft.remove(from);
    }
    draft.add(path, value);
    return true;
  }
  if (op !== 'add' && op !== 'replace' && op !== 'remove') {
    throw new PatchProblem('op is none of add, remove, replace, move, copy, test');
  }
  guarded(path);
  if (op !== 'add') found(draft, path, 'path');
  if (op === 'remove') draft.remove(path);
  else draft[op](path, valueIn(operation));
  return true;
}

function found(draft: Draft, path: string[], field: 'path' | 'from'): Json {
  const value = draft.find(path);
  if (value === undefined) throw new PatchProblem(`there is nothing at ${field} "${joinPath(path)}"`);
  return value;
}

function valueIn({ value }: JsonObject): Json {
  if (value === undefined) throw new PatchProblem('value is missing');
  if (isTooDeep(value)) throw new PatchProblem('the value is nested too deeply');
  const bad = forbiddenKey(value);
  if (bad) throw new PatchProblem(`"${bad}" is no name for a member`);
  return value;
}

function pathIn(operation: JsonObject, field: 'path' | 'from'): string[] {
  const text = operation[field];
  if (text === undefined) throw new PatchProblem(`${field} is missing`);
  const segments = typeof text === 'string' ? parsePath(text) : null;
  if (!segments) throw new PatchProblem(`${field} is not a JSON Pointer`);
  if (segments.length > JSON_DEPTH) throw new PatchProblem(`${field} is nested too deeply`);
  const bad = segments.find((segment) => FORBIDDEN.has(segment));
  if (bad) throw new PatchProblem(`"${bad}" is no name for a member`);
  return segments;
}

/** Names that reach behind an object in JavaScript. They are nobody's data, so no document gets to hold them. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

function forbiddenKey(value: Json): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, child] of Object.entries(value)) {
    const bad = !Array.isArray(value) && FORBIDDEN.has(key) ? key : forbiddenKey(child);
    if (bad) return bad;
  }
  return null;
}

function shown(field: unknown): string {
  const text = typeof field === 'string' ? field : field === undefined ? '?' : JSON.stringify(field);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
