import { badRequest, RelayError } from '../../base/errors.ts';
import { CLAIM_MS, CLAIM_WILDCARDS, CLAIMS_MAX } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { type AgentClaim, agentChannel } from '../../contract/agents.ts';
import { mayUseChannel } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Deps } from '../deps.ts';
import { segment } from '../names.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';

/** Number of claims that are compared before yielding to other requests. */
const COMPARED = 100;
/** Matches a wildcard of a path pattern. A match of `**` includes the slash after it. */
const WILDCARD = /(\*\*\/?|\*)/;
const SLASH = 0x2f;

const claimsPrefix = (tenant: string) => `ten.${tenant}/claim/`;
const projectPrefix = (tenant: string, project: string) => `${claimsPrefix(tenant)}${segment(project)}/`;

interface ClaimRecord {
  readonly project: string;
  readonly what: string;
  readonly by: string;
  readonly since: number;
  readonly until: number;
  /** Duration of the claim in ms. Each renewal extends the claim by this time. */
  readonly ttl: number;
}

/** Claims of agents on files and todos: leases that expire unless their holder renews them. */
export class Claims {
  readonly #deps: Deps;
  readonly #records: RecordsOf<ClaimRecord>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
  }

  async claims(caller: Caller, { project }: { project?: string } = {}): Promise<{ claims: AgentClaim[] }> {
    const { tenant } = caller;
    const prefix = project === undefined ? claimsPrefix(tenant) : projectPrefix(tenant, project);
    const all = await Array.fromAsync(allRecords(this.#records, prefix), ({ value }) => value);
    return { claims: all.filter(({ by }) => mayUseChannel(caller, agentChannel(by))).map(publicClaim) };
  }

  /**
   * Claims a file or a todo, or renews the caller's claim. Throws if another agent has an overlapping claim.
   * Exception: if two agents claim overlapping patterns at the same moment, both may succeed.
   */
  async claim(caller: Caller, project: string, what: string, o: { ttl?: number } = {}): Promise<AgentClaim> {
    const { tenant } = caller;
    const by = caller.agent ?? caller.name;
    const now = this.#deps.env.now();
    const key = projectPrefix(tenant, project) + segment(what);
    if (what.split('*').length - 1 > CLAIM_WILDCARDS)
      throw badRequest(`A claim has at most ${CLAIM_WILDCARDS} asterisks.`, 'Claim the folder instead.');
    const ttl = o.ttl === undefined ? CLAIM_MS : o.ttl * 1000;
    const all = await Array.fromAsync(allRecords(this.#records, projectPrefix(tenant, project)));
    for (const [index, { value }] of all.entries()) {
      if (value.by !== by && overlaps(value.what, what)) throw held(value, now);
      if (index % COMPARED === COMPARED - 1) await pause(0);
    }
    const stored = all.find((claim) => claim.key === key);
    if (all.length >= CLAIMS_MAX)
      throw badRequest(
        `The project already has ${CLAIMS_MAX} claims, which is the limit.`,
        'Release some of them.',
      );
    const until = now + ttl;
    const value = { project, what, by, since: stored?.value.since ?? now, until, ttl };
    const options = { expect: stored?.revision ?? 'absent', expiresAt: until } as const;
    if ((await this.#records.put(key, value, options)) !== null) return publicClaim(value);
    return this.claim(caller, project, what, o);
  }

  async release(caller: Caller, project: string, what: string): Promise<void> {
    const key = projectPrefix(caller.tenant, project) + segment(what);
    const stored = await this.#records.get(key);
    if (!stored) return;
    if (stored.value.by !== (caller.agent ?? caller.name)) throw held(stored.value, this.#deps.env.now());
    await this.#records.delete(key, { expect: stored.revision });
  }

  /** Extends all claims of an agent, because its session is still at work. */
  async renew(tenant: string, agent: string): Promise<void> {
    const now = this.#deps.env.now();
    for await (const { key, value, revision } of allRecords(this.#records, claimsPrefix(tenant))) {
      const until = now + value.ttl;
      // To save writes, skip a claim whose lease would grow by less than a tenth.
      if (value.by !== agent || until - value.until < value.ttl / 10) continue;
      await this.#records.put(key, { ...value, until }, { expect: revision, expiresAt: until });
    }
  }
}

function publicClaim({ project, what, by, since, until }: ClaimRecord): AgentClaim {
  return { project, what, by, since: new Date(since).toISOString(), until: new Date(until).toISOString() };
}

function held({ by, what, until }: ClaimRecord, now: number): RelayError {
  return new RelayError('claimed', { by, what, left: minutesLeft(until, now) });
}

/** Formats the remaining time of a lease: `12 more minutes`. */
export function minutesLeft(until: number, now: number): string {
  const minutes = Math.max(1, Math.ceil((until - now) / 60_000));
  return minutes === 1 ? '1 more minute' : `${minutes} more minutes`;
}

/**
 * Returns whether two path patterns may match the same file. `*` matches within a folder, `**` across
 * folders. Two patterns with wildcards are compared only by the text before their first wildcard, so the
 * result can be true although no file matches both.
 */
export function overlaps(a: string, b: string): boolean {
  const [literalA, literalB] = [a, b].map((pattern) => pattern.split('*', 1)[0]!) as [string, string];
  if (literalA !== a && literalB !== b) return literalA.startsWith(literalB) || literalB.startsWith(literalA);
  if (literalA === a && literalB === b) return a === b || isInside(a, b) || isInside(b, a);
  return literalA === a ? matches(b, a) : matches(a, b);
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/**
 * Returns whether a pattern matches a path. Tracks all positions in the path that the pattern can reach,
 * because a regular expression with several wildcards could need exponential time.
 */
function matches(pattern: string, path: string): boolean {
  let reachable = new Uint8Array(path.length + 1).fill(1, 0, 1);
  for (const part of pattern.split(WILDCARD)) {
    const next = new Uint8Array(path.length + 1);
    if (part.startsWith('*'))
      for (let at = reachable.indexOf(1), open = 1; at >= 0 && at <= path.length; at++) {
        if (part === '*' && path.charCodeAt(at - 1) === SLASH) open = 0;
        open |= reachable[at]!;
        next[at] = open;
      }
    else
      for (let at = 0; at + part.length <= path.length; at++) {
        let same = reachable[at] === 1 ? 0 : -1;
        while (same >= 0 && same < part.length)
          same = path.charCodeAt(at + same) === part.charCodeAt(same) ? same + 1 : -1;
        if (same >= 0) next[at + part.length] = 1;
      }
    reachable = next;
  }
  return reachable[path.length] === 1;
}
