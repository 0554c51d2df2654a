import { RelayError } from '../../base/errors.ts';
import { type Json, jsonDepth } from '../../base/json.ts';
import { joinPath, parsePath } from '../../base/json-pointer.ts';
import { JSON_DEPTH } from '../../base/limits.ts';
import { Draft } from './draft.ts';
import { jsonEqual } from './equal.ts';

export interface PatchOp {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

export interface PatchOptions {
  /** Says why a place must not be written to; nothing where it may. */
  readonly guard?: (segments: readonly string[]) => string | undefined;
  /** Bytes of the document as JSON, where known; otherwise it is measured. */
  readonly bytes?: number;
  /** What the document may take at the end. In between it may take twice as much. */
  readonly maxBytes?: number;
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
  const draft = new Draft(doc, o.bytes);
  ops.forEach((raw, index) => {
    const step = new Step(raw, index, o);
    step.run(draft);
    if (o.maxBytes !== undefined && draft.bytes > 2 * o.maxBytes) {
      throw step.refuse(`the document would grow beyond ${o.maxBytes} bytes`);
    }
  });
  return { doc: draft.root, bytes: draft.bytes, touched: draft.touched };
}

class Step {
  readonly #raw: { [name: string]: unknown };
  readonly #index: number;
  readonly #options: PatchOptions;

  constructor(raw: unknown, index: number, options: PatchOptions) {
    this.#raw = typeof raw === 'object' && raw !== null && !Array.isArray(raw) ? { ...raw } : {};
    this.#index = index;
    this.#options = options;
  }

  refuse(what: string): RelayError {
    return new RelayError('bad_patch', { ...this.#where(), what });
  }

  run(draft: Draft): void {
    const { op } = this.#raw;
    const path = this.#path('path');
    switch (op) {
      case 'test':
        if (!jsonEqual(this.#found(draft, path), this.#value())) {
          throw new RelayError('patch_test_failed', this.#where());
        }
        return;
      case 'add':
        this.#guard(path);
        this.#do(draft.add(path, this.#value()));
        return;
      case 'replace':
        this.#guard(path);
        this.#found(draft, path);
        this.#do(draft.replace(path, this.#value()));
        return;
      case 'remove':
        this.#guard(path);
        this.#found(draft, path);
        this.#do(draft.remove(path));
        return;
      case 'copy':
      case 'move':
        this.#carry(draft, op, path);
        return;
      default:
        throw this.refuse('op is none of add, remove, replace, move, copy, test');
    }
  }

  #carry(draft: Draft, op: 'copy' | 'move', path: string[]): void {
    const from = this.#path('from');
    this.#guard(path);
    if (op === 'move') this.#guard(from);
    const value = this.#found(draft, from, 'from');
    // From here on the value may stand in two places at once, so nothing may be changed in place any more.
    draft.seal();
    if (op === 'move') {
      const within = from.every((segment, i) => segment === path[i]);
      if (within && path.length > from.length) throw this.refuse('a value cannot be moved into itself');
      if (within) return;
      this.#do(draft.remove(from));
    }
    this.#do(draft.add(path, value));
  }

  #found(draft: Draft, path: string[], field: 'path' | 'from' = 'path'): Json {
    const found = draft.find(path);
    if (found === undefined) throw this.refuse(`there is nothing at ${field} "${joinPath(path)}"`);
    return found;
  }

  #value(): Json {
    const { value } = this.#raw;
    if (value === undefined) throw this.refuse('value is missing');
    if (jsonDepth(value as Json, JSON_DEPTH) > JSON_DEPTH)
      throw this.refuse('the value is nested too deeply');
    const bad = forbiddenKey(value as Json);
    if (bad) throw this.refuse(`"${bad}" is no name for a member`);
    return value as Json;
  }

  #path(field: 'path' | 'from'): string[] {
    const text = this.#raw[field];
    if (text === undefined) throw this.refuse(`${field} is missing`);
    const segments = typeof text === 'string' ? parsePath(text) : null;
    if (!segments) throw this.refuse(`${field} is not a JSON Pointer`);
    if (segments.length > JSON_DEPTH) throw this.refuse(`${field} is nested too deeply`);
    const bad = segments.find((segment) => FORBIDDEN.has(segment));
    if (bad) throw this.refuse(`"${bad}" is no name for a member`);
    return segments;
  }

  #guard(path: string[]): void {
    const reason = this.#options.guard?.(path);
    if (reason) throw this.refuse(reason);
  }

  #do(problem: string | null): void {
    if (problem !== null) throw this.refuse(problem);
  }

  #where(): { index: number; op: string; path: string } {
    const { op, path } = this.#raw;
    return { index: this.#index, op: shown(op), path: shown(path) };
  }
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
