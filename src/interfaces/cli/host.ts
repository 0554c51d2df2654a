import type { Readable, Writable } from 'node:stream';
import type { Json } from '../../base/json.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { RemoteAgent } from '../../client/bridge/remote-agent.ts';
import type { AcpOptions, ExecOptions, Runner, TmuxOptions } from '../../client/bridge/runner.ts';
import type { Pipelines } from '../../client/pipelines/pipelines.ts';
import type { Project } from '../../client/projects/project.ts';
import type { Prompts } from '../../client/prompts/prompts.ts';
import type { Model, ModelChoice, PromptWay } from '../../client/prompts/types.ts';
import type { Inbox } from '../../contract/channels.ts';
import type { CreatedKey } from '../../contract/keys.ts';
import type { Relay } from '../../contract/relay.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { ContextRelayOptions } from '../../sdk/options.ts';
import type { FrameSecret } from '../../text/frame.ts';

/**
 * What the program offers to its commands, by subject. The app puts it together; each part loads its code when it is first
 * called.
 */
export interface Host {
  /** Where the local store is, whether or not it exists yet. */
  readonly home: string;
  /** The server named by --url or CONTEXTRELAY_URL; null for the local store. */
  readonly remote: string | null;
  readonly program: ProgramHost;
  readonly relay: RelayHost;
  readonly store: StoreHost;
  readonly projects: ProjectHost;
  readonly agents: AgentHost;
  /** The server that serves the local store. */
  server(): Promise<ServerControl>;
  /** The options of the home, also where they are wrong. */
  settings(): Promise<Settings>;
}

/** The program itself and the machine it runs on. */
export interface ProgramHost {
  readonly version: string;
  /** Name and version of what runs the program: `Bun 1.4.4`, `Node 26.10.0`. */
  readonly runtime: string;
  /** What to type on this machine to call this program on the same relay, wherever that is typed. */
  command(): Promise<string>;
  guides(): Promise<Guides>;
  /** Sets up coding agents. */
  installer(): Promise<Installer>;
  /** Counts here, in this process. */
  countTokens(text: string): Promise<TokenCount>;
  /** Looks at everything that could be wrong. What has not answered after so many ms is told as that. */
  diagnose(ms: number): AsyncIterable<Check>;
}

/** The relay that commands work on: the local store, or a server. */
export interface RelayHost {
  open(o?: Pick<ContextRelayOptions, 'onConnection'>): Promise<OpenClient>;
  /** A store of its own in a temporary folder, gone when disposed. */
  scratch(): Promise<OpenClient>;
  /** The thread that commands are about where none is named. */
  threadMemory(): Promise<ThreadMemory>;
  /** The keys shared with others on channels; kept here, and given to no relay. */
  keyring(): Promise<Keyring>;
  /** Of the home, for the marks of frames. */
  readonly frameSecret: FrameSecret;
  /** A look at what is newest in an agent's inbox, once for each session; gives up when it is told to; null where there is no store yet. */
  peekInbox(
    agent: string,
    o: { readonly limit: number; readonly signal: AbortSignal; readonly session: string | null },
  ): Promise<Inbox | null>;
}

/** Keeps the local store in order. */
export interface StoreHost {
  /** The address of the cluster that the configuration names, with its password; null where the home is the store. */
  readonly engine: string | null;
  open(): Promise<LocalStore>;
  /** Makes the home and its configuration file where they are missing; what is there stays as it is. */
  init(): Promise<{ readonly config: string; readonly written: boolean }>;
  /** `lost`: the keys of bodies that are damaged, and that the copy does without. `engine`: a cluster instead of the configured store. */
  backup(target: string, engine?: string): Promise<{ readonly lost: readonly string[] }>;
  /** `engine`: the cluster that it goes into, where that is not the configured one. `blobs`: likewise the bucket for large bodies. */
  restore(
    source: string,
    o: { force: boolean; partial: boolean; engine?: string; blobs?: string },
  ): Promise<{ readonly lost: readonly string[] }>;
  /** Copies a store, which may be in use, into another that is empty, and has the first one take its leave. `blobs`: a bucket for large bodies there. */
  copy(from: string, to: string, report: CopyReport, blobs?: string): Promise<EngineCopied>;
  /** Lets a store be written again that has moved elsewhere. */
  reopen(place: string): Promise<{ readonly store: string; readonly was: string | null }>;
  /** Makes what is derived from the logs of threads anew: their files, and what a search looks through. */
  repair(): Promise<Repaired>;
  /** The folder of a Go relay, which is read and never changed. */
  openLegacy(dir: string): Promise<LegacyHome & Disposable>;
}

export interface Repaired {
  readonly threads: number;
  readonly artifacts: number;
  /** Contents that are gone from the store, by thread and ref. */
  readonly missing: readonly string[];
}

/** Folders with project files. */
export interface ProjectHost {
  /** The project files in this very folder, whether or not they exist yet. */
  open(folder: string, o?: ProjectOptions): Promise<Project>;
  /** Those of the folder or the nearest one above; null where there are none. */
  find(from: string, o?: ProjectOptions): Promise<Project | null>;
}

/** Models, programs and agents that work for a command, or that it works for. */
export interface AgentHost {
  /** Prompts, programs and pipelines. `cwd` is where programs run. */
  openWork(cwd: string): Promise<AgentWork>;
  /** Where a bridge runs tasks. */
  openRunner(spec: RunnerSpec): Promise<Runner>;
  /** An agent elsewhere, by the address of its host, of itself or of its card. */
  openRemote(url: string, o: { readonly token?: string }): Promise<RemoteAgent>;
  /** Serves MCP over a pipe; resolves when the client has closed its end. */
  serveMcp(o: McpOptions): Promise<void>;
}

/** Which agent, as the command line names it. */
export type RunnerSpec =
  | ({ readonly kind: 'exec' } & ExecOptions)
  | ({ readonly kind: 'tmux' } & TmuxOptions)
  | ({ readonly kind: 'acp' } & AcpOptions)
  | { readonly kind: 'a2a'; readonly url: string };

export interface ProjectOptions {
  /** How long git may take to answer; what does not come in time is left out. */
  readonly gitMs?: number;
  /** How long another process may take to finish writing. */
  readonly lockMs?: number;
  /** Follow symbolic links that lead out of the folder. */
  readonly followLinks?: boolean;
}

/** Skill, hooks and MCP entry of a coding agent. */
export interface Installer {
  readonly clients: readonly string[];
  /** Changes what is to be changed, or with `dryRun` only says it. */
  run(request: InstallRequest): Promise<InstallReport>;
}

export interface InstallRequest {
  readonly client: string;
  readonly scope: 'project' | 'user';
  readonly action: 'add' | 'remove';
  readonly only?: readonly string[];
  readonly dryRun?: boolean;
  /** Follow symbolic links that lead out of the project, or out of the folder of the user's settings. */
  readonly followLinks?: boolean;
  /** Codex runs our tools without asking. */
  readonly approveTools?: boolean;
}

export interface InstallReport {
  readonly changes: readonly {
    readonly path: string;
    readonly parts: readonly string[];
    readonly what: 'same' | 'created' | 'changed' | 'deleted' | 'kept';
    readonly diff: readonly string[];
  }[];
  readonly notes: readonly string[];
}

export interface Keyring {
  /** The file it is in. */
  readonly path: string;
  list(): Promise<readonly { readonly channel: string; readonly created_at: string }[]>;
  get(channel: string): Promise<string | undefined>;
  put(channel: string, key: string): Promise<void>;
  /** Whether there was one. */
  remove(channel: string): Promise<boolean>;
}

/** Remembered for each relay apart: the local store, and every server. */
export interface ThreadMemory {
  get(): string | undefined;
  set(id: string): Promise<void>;
  /** Where it was this one. */
  forget(id: string): Promise<void>;
}

export interface LegacyHome {
  /** What is otherwise here than it was there, in sentences; what concerns one thread is in its notes. */
  readonly changes: readonly string[];
  readonly threads: AsyncIterable<LegacyThread>;
}

export interface LegacyThread {
  /** The folder it was read from. */
  readonly path: string;
  readonly thread_id: string;
  readonly name: string;
  readonly versions: number;
  readonly artifacts: number;
  readonly events: number;
  /** What could not be taken over as it is, in sentences. */
  readonly notes: readonly string[];
  /** The thread as a bundle that a relay can import. */
  bundle(): ReadableStream<Uint8Array>;
}

export interface OpenClient extends AsyncDisposable {
  /** The whole API, embedded or over HTTP. */
  readonly relay: Relay;
  /** Payloads, encrypted here where asked for; loaded when first asked for. */
  client(): Promise<ContextRelay>;
  /** The server's address; null for the local store. */
  readonly remote: string | null;
  /** The same pointer as the client takes it: one with an address of this machine may be in the local store. */
  resolve(url: string): Promise<string>;
}

export interface McpOptions {
  /** Names with commas between them; null for all. */
  readonly tools: string | null;
  /** Tokens. */
  readonly budget: number;
  /** Where the client works. */
  readonly folder: string;
  /** Commands as they have to be typed there. */
  typed(text: string): string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  onError(error: unknown): void;
  onWarning(text: string): void;
}

/** The server that serves the local store. */
export interface ServerControl {
  /** Where `up` listens by default. */
  readonly defaults: ServeOptions;
  /** The one that runs on this home, if any. */
  running(): RunningServer | null;
  /** The last one left its file behind without stopping properly. */
  leftBehind(): RunningServer | null;
  /** Whether it would ask for keys if started like this. */
  asksForKeys(o: ServeOptions): boolean;
  /** The address at which others would reach it if started like this; null where only this machine does. */
  exposedAs(o: ServeOptions): string | null;
  /** The cluster that it would use if started like this; null where the home is the store. */
  cluster(o: ServeOptions): Cluster | null;
  /** Makes the first key of a store that has none for its admins; null where there is one. */
  firstKey(o: ServeOptions): Promise<CreatedKey | null>;
  /** Serves in this process. Rejects with `port_taken`, and with `failed` when another server has this home. */
  serve(o: ServeOptions): Promise<Serving>;
  /** Starts one in the background and waits until it answers. */
  detach(o: ServeOptions): Promise<RunningServer>;
  /** The addresses at which other machines reach a server that listens on `host` and calls itself `url`. */
  reachableAt(host: string, url: string): Promise<string[]>;
  /** Tells it to stop and waits for its end; false when it did not within the time. */
  stop(server: RunningServer, o: { force: boolean }): Promise<boolean>;
  /** What a server says about itself; null when nothing answers there in the manner of a relay. */
  health(url: string): Promise<Health | null>;
  /** Who holds a port, and which one is free instead. */
  portTaken(o: ServeOptions): Promise<PortTaken | null>;
}

export interface Cluster {
  /** Its address, without a password. */
  readonly shown: string;
  /** Commands at another terminal know its address, with the login that it may need. */
  readonly isKnown: boolean;
}

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** The cluster that keeps everything instead of the home. */
  readonly engine?: string;
  /** A file that holds the address of the cluster. */
  readonly engineFile?: string;
  /** A bucket for large bodies. */
  readonly blobs?: string;
  /** Serve beyond this machine though nobody needs a key. */
  readonly open?: boolean;
  /** Ask for a key, also on loopback. */
  readonly auth?: boolean;
  readonly publicUrl?: string;
  /** Files in PEM format. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Proxies whose word on where a request comes from counts. */
  readonly trustProxy?: readonly string[];
  /** A2A webhooks may be on this machine. */
  readonly loopbackWebhooks?: boolean;
  /** Folders of projects that the dashboard shows. */
  readonly projects?: readonly string[];
}

export interface Serving {
  /** `http://127.0.0.1:7474`, with the port that was really taken. */
  readonly url: string;
  /** There was no room on the disk of the home to begin with. */
  readonly isFull: boolean;
  /** Resolves once it has been told to stop and every accepted request is answered. */
  readonly stopped: Promise<void>;
  stop(): void;
}

export interface RunningServer {
  readonly pid: number;
  readonly url: string;
  readonly version: string;
  /** ISO 8601, UTC. */
  readonly started_at: string;
  /** Where its output goes; null when it runs at a terminal. */
  readonly log: string | null;
  /** The cluster that it uses, without a password; null for the home folder. */
  readonly engine?: string | null;
}

export interface Health {
  readonly status: string;
  readonly version?: string;
  /** Why it should be started anew, in a sentence. */
  readonly restart?: string;
  /** False where its store has no room: it serves what is there, deletes, and stores nothing new. */
  readonly writable?: boolean;
}

export interface PortTaken {
  /** In words: `by node server.js (pid 4711)`; empty when nobody knows. */
  readonly by: string;
  /** It is a relay, this one's or another's. */
  readonly relay: boolean;
  readonly free: number | null;
}

export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'wrong';
  /** What was found. */
  readonly found: string;
  /** What to type, where something is to be done. */
  readonly fix?: string;
}

/** Where agents are put to work: prompts, programs and pipelines on the threads of a relay. */
export interface AgentWork extends AsyncDisposable {
  readonly threads: ThreadsApi;
  readonly prompts: Prompts;
  readonly pipelines: Pipelines;
  /** The model that flags and environment lead to; an error that says what to set where there is none. */
  model(choice: ModelChoice): Model;
  readonly programs: Programs;
}

export interface Programs {
  /** Coding agents that are known by name. */
  known(): readonly { readonly name: string; readonly about: string; readonly installed: boolean }[];
  /** Whether it converses when nothing is asked of it. */
  converses(cli: string): boolean;
  run(run: ProgramRun): Promise<{ readonly code: number; readonly signal: string | null }>;
}

export interface ProgramRun {
  readonly cli: string;
  readonly args: readonly string[];
  readonly promptBy?: PromptWay;
  /** Null where it is not asked anything. */
  readonly prompt: string | null;
  /** It gets the terminal itself; otherwise its output comes here and goes on from here. */
  readonly terminal: boolean;
  /** What it is about; without one, RELAY_THREAD is as it was. */
  readonly thread?: string;
  onOutput?(chunk: Uint8Array): Promise<void> | void;
  /** Its standard error, which by default goes where that of this program goes. */
  onComplaint?(chunk: Uint8Array): void;
}

/** The options of the relay: what counts, where it was said, and what is wrong with it. */
export interface Settings {
  /** `<home>/config.json`, whether or not it is there. */
  readonly file: string;
  show(): Setting[];
  /** The variables of the environment that are no options. A secret is only told to be set. */
  variables(): { readonly name: string; readonly value: string | null; readonly help: string }[];
  /** What counts for an option as it is, with what `show` leaves out; null where nothing was said and there is no default. */
  get(name: string): unknown;
  /**
   * Writes an option into the file, and leaves all else in there as it was. One word is taken as JSON, as a text or as a list
   * of one, whichever the option takes; several are a list; null takes the option out.
   */
  set(name: string, words: readonly string[] | null): Promise<ChangedSetting>;
  /** Everything that is wrong, also where only a server would notice it. */
  check(): Promise<SettingProblem[]>;
}

export interface Setting {
  readonly name: string;
  /** What counts; of a secret what may be seen. */
  readonly value: unknown;
  readonly default: unknown;
  readonly from: 'default' | 'file' | 'environment';
  /** The variable that wins over the file. */
  readonly variable: string | null;
  readonly help: string;
  /** What is said cannot be used, and why; the value is then the default. */
  readonly problem?: string;
}

export interface ChangedSetting {
  readonly name: string;
  readonly value: Json;
  readonly file: string;
  readonly changed: boolean;
  /** A variable that is set and wins over what was written. */
  readonly overridden_by: string | null;
  /** A server that runs on this home goes on as it was started. */
  readonly restart: boolean;
}

export interface SettingProblem {
  readonly state: 'wrong' | 'warning';
  /** The file with its line, or the variable. */
  readonly where: string;
  readonly what: string;
}

/** The guides that came with the program, as Markdown. */
export interface Guides {
  readonly index: readonly GuideSection[];
  /** Null where there is no such guide. */
  read(topic: string): string | null;
}

export interface GuideSection {
  readonly title: string;
  readonly guides: readonly Guide[];
}

export interface Guide {
  /** What `relay help` calls it: the name of its file. */
  readonly topic: string;
  readonly title: string;
  readonly about: string;
  /** From docs/ on. */
  readonly file: string;
}

export interface LocalStore extends AsyncDisposable {
  sweep(): ReturnType<RelayCore['sweepStore']>;
  usage: RelayCore['deps']['engine']['usage'];
  state: RelayCore['deps']['engine']['state'];
  /** Bodies whose files are gone, and the files of some of them. */
  missingBodies(): Promise<{ readonly count: number; readonly some: readonly string[] }>;
  /** Reads every body, one after the other. */
  checkBodies(): AsyncIterable<BodyCheck>;
  /** What is wrong with the database, in its own words; null where nothing is. */
  checkDatabase(): Promise<string | null>;
}

export interface BodyCheck {
  readonly size: number;
  readonly damaged?: DamagedBody;
}

export interface DamagedBody {
  readonly key: string;
  /** Where it is, below the home; null for one that is no file there. */
  readonly file: string | null;
  readonly fault: 'missing' | 'cut' | 'altered';
  /** What refers to it, in words; null where nothing does. */
  readonly refers: string | null;
}

/** How far a copy is. */
export interface CopyReport {
  step(name: 'copy' | 'check' | 'switch', items: number): void;
  add(items: number): void;
}

export interface EngineCopied {
  readonly from: string;
  readonly to: string;
  readonly blobs: number;
  readonly bytes: number;
  readonly records: number;
  readonly logs: number;
  readonly entries: number;
  readonly documents: number;
  /** Keys of bodies that are damaged in the source, and that the copy does without. */
  readonly lost: readonly string[];
  /** How long nobody could write. */
  readonly frozen_ms: number;
}
