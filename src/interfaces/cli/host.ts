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
 * Services that the app provides to the commands. Each part loads its code on the first call.
 */
export interface Host {
  /** Folder of the local store. It may not exist yet. */
  readonly home: string;
  /** Address of the server from --url or CONTEXTRELAY_URL, or null for the local store. */
  readonly remote: string | null;
  readonly program: ProgramHost;
  readonly relay: RelayHost;
  readonly store: StoreHost;
  readonly projects: ProjectHost;
  readonly agents: AgentHost;
  /** Controls the server of the local store. */
  server(): Promise<ServerControl>;
  /** Reads the options of the home, even if some are invalid. */
  settings(): Promise<Settings>;
}

/** The program itself and the machine it runs on. */
export interface ProgramHost {
  readonly version: string;
  /** Name and version of the JavaScript runtime: `Bun 1.4.4`, `Node 26.10.0`. */
  readonly runtime: string;
  /** Returns the command that starts this program with the same relay from any folder of this machine. */
  command(): Promise<string>;
  guides(): Promise<Guides>;
  /** Returns the installer for coding agents. */
  installer(): Promise<Installer>;
  /** Counts tokens in this process, without a server. */
  countTokens(text: string): Promise<TokenCount>;
  /** Runs the checks of `relay doctor`. A check that takes longer than `ms` is reported as failed. */
  diagnose(ms: number): AsyncIterable<Check>;
}

/** The relay that commands work on: the local store, or a server. */
export interface RelayHost {
  open(o?: Pick<ContextRelayOptions, 'onConnection'>): Promise<OpenClient>;
  /** Opens a new store in a temporary folder, which is deleted on dispose. */
  scratch(): Promise<OpenClient>;
  /** Returns the memory of the default thread. */
  threadMemory(): Promise<ThreadMemory>;
  /** Returns the channel keys of this machine. They are never sent to a relay. */
  keyring(): Promise<Keyring>;
  /** Secret of the home that makes frame markers unguessable. */
  readonly frameSecret: FrameSecret;
  /** Reads the newest unread messages of an agent, each message once per session. Stops on `signal`. Null if there is no store. */
  peekInbox(
    agent: string,
    o: { readonly limit: number; readonly signal: AbortSignal; readonly session: string | null },
  ): Promise<Inbox | null>;
}

/** Maintenance of the local store. */
export interface StoreHost {
  /** Address of the configured cluster with its password, or null if the home folder is the store. */
  readonly engine: string | null;
  open(): Promise<LocalStore>;
  /** Creates the home and its configuration file if they are missing. Does not change existing files. */
  init(): Promise<{ readonly config: string; readonly written: boolean }>;
  /** Backs up the store, or the cluster `engine`. Returns in `lost` the keys of damaged payloads that are not in the backup. */
  backup(target: string, engine?: string): Promise<{ readonly lost: readonly string[] }>;
  /** Restores a backup. `engine` and `blobs` replace the configured cluster and the bucket for large payloads. */
  restore(
    source: string,
    o: { force: boolean; partial: boolean; engine?: string; blobs?: string },
  ): Promise<{ readonly lost: readonly string[] }>;
  /** Moves a store, which may be in use, to an empty one and makes the old one read-only. `blobs`: bucket for large payloads of the new store. */
  copy(from: string, to: string, report: CopyReport, blobs?: string): Promise<EngineCopied>;
  /** Makes a store writable again that was moved away. */
  reopen(place: string): Promise<{ readonly store: string; readonly was: string | null }>;
  /** Rebuilds the thread files and the search index from the event logs. */
  repair(): Promise<Repaired>;
  /** Opens the home of a Go relay read-only. */
  openLegacy(dir: string): Promise<LegacyHome & Disposable>;
}

export interface Repaired {
  readonly threads: number;
  readonly artifacts: number;
  /** Artifact contents that are missing in the store, by thread and ref. */
  readonly missing: readonly string[];
}

/** Access to folders with project files. */
export interface ProjectHost {
  /** Opens the project in this folder. Its files may not exist yet. */
  open(folder: string, o?: ProjectOptions): Promise<Project>;
  /** Finds the project in the folder or its nearest parent with project files. Null if there is none. */
  find(from: string, o?: ProjectOptions): Promise<Project | null>;
}

/** Access to models, programs and agents. */
export interface AgentHost {
  /** Opens prompts, programs and pipelines. Programs run in `cwd`. */
  openWork(cwd: string): Promise<AgentWork>;
  /** Creates the runner that a bridge uses for tasks. */
  openRunner(spec: RunnerSpec): Promise<Runner>;
  /** Opens a remote A2A agent by the address of its host, of the agent or of its card. */
  openRemote(url: string, o: { readonly token?: string }): Promise<RemoteAgent>;
  /** Serves MCP over a pipe. Resolves when the client closes the pipe. */
  serveMcp(o: McpOptions): Promise<void>;
}

/** Kind and options of a runner, from the command line. */
export type RunnerSpec =
  | ({ readonly kind: 'exec' } & ExecOptions)
  | ({ readonly kind: 'tmux' } & TmuxOptions)
  | ({ readonly kind: 'acp' } & AcpOptions)
  | { readonly kind: 'a2a'; readonly url: string };

export interface ProjectOptions {
  /** Timeout for git in ms. Later results are left out. */
  readonly gitMs?: number;
  /** Time in ms to wait for the lock of another process. */
  readonly lockMs?: number;
  /** Follow symbolic links that point outside the folder. */
  readonly followLinks?: boolean;
}

/** Installs skill, hooks and MCP entry in coding agents. */
export interface Installer {
  readonly clients: readonly string[];
  /** Makes the changes, or only reports them with `dryRun`. */
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
  /** Let Codex call our tools without asking. */
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
  /** Path of the key file. */
  readonly path: string;
  list(): Promise<readonly { readonly channel: string; readonly created_at: string }[]>;
  get(channel: string): Promise<string | undefined>;
  put(channel: string, key: string): Promise<void>;
  /** Deletes the key of a channel. Returns false if there was none. */
  remove(channel: string): Promise<boolean>;
}

/** Memory of the default thread. Each relay (the local store and every server) has its own. */
export interface ThreadMemory {
  get(): string | undefined;
  set(id: string): Promise<void>;
  /** Clears the default thread if it is `id`. */
  forget(id: string): Promise<void>;
}

export interface LegacyHome {
  /** Differences after the import that concern all threads, as sentences. */
  readonly changes: readonly string[];
  readonly threads: AsyncIterable<LegacyThread>;
}

export interface LegacyThread {
  /** Folder of the thread in the old home. */
  readonly path: string;
  readonly thread_id: string;
  readonly name: string;
  readonly versions: number;
  readonly artifacts: number;
  readonly events: number;
  /** Parts of this thread that could not be imported unchanged, as sentences. */
  readonly notes: readonly string[];
  /** Returns the thread as a bundle that a relay can import. */
  bundle(): ReadableStream<Uint8Array>;
}

export interface OpenClient extends AsyncDisposable {
  /** The whole API, in this process or over HTTP. */
  readonly relay: Relay;
  /** Returns the SDK client, which can encrypt payloads. Loaded on first use. */
  client(): Promise<ContextRelay>;
  /** Address of the server, or null for the local store. */
  readonly remote: string | null;
  /** Rewrites a pointer for the client: one with an address of this machine may be in the local store. */
  resolve(url: string): Promise<string>;
}

export interface McpOptions {
  /** Tool names separated by commas, or null for all tools. */
  readonly tools: string | null;
  /** Maximum tokens of a pull. */
  readonly budget: number;
  /** Working folder of the client. */
  readonly folder: string;
  /** Replaces `relay` in our texts by the command to type. See `Io.typed`. */
  typed(text: string): string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  onError(error: unknown): void;
  onWarning(text: string): void;
}

/** Starts, stops and inspects the server of the local store. */
export interface ServerControl {
  /** Default options of `relay up`. */
  readonly defaults: ServeOptions;
  /** Returns the running server of this home, if any. */
  running(): RunningServer | null;
  /** Returns the last server if it ended unexpectedly and left its file behind. */
  leftBehind(): RunningServer | null;
  /** Whether a server with these options requires API keys. */
  asksForKeys(o: ServeOptions): boolean;
  /** Address at which others reach a server with these options, or null if only this machine can reach it. */
  exposedAs(o: ServeOptions): string | null;
  /** Cluster that a server with these options uses, or null if the home folder is the store. */
  cluster(o: ServeOptions): Cluster | null;
  /** Creates an admin key if the store has none. Returns null if it has one. */
  firstKey(o: ServeOptions): Promise<CreatedKey | null>;
  /** Serves in this process. Rejects with `port_taken`, or with `failed` if another server uses this home. */
  serve(o: ServeOptions): Promise<Serving>;
  /** Starts a server in the background and waits until it answers. */
  detach(o: ServeOptions): Promise<RunningServer>;
  /** Returns the addresses at which other machines reach a server that listens on `host`. */
  reachableAt(host: string, url: string): Promise<string[]>;
  /** Stops the server and waits for its end. Returns false after a timeout. */
  stop(server: RunningServer, o: { force: boolean }): Promise<boolean>;
  /** Reads the health of a server. Returns null if no relay answers at the address. */
  health(url: string): Promise<Health | null>;
  /** Returns who uses the port and a free port instead. Null if the port is free. */
  portTaken(o: ServeOptions): Promise<PortTaken | null>;
}

export interface Cluster {
  /** Address without the password. */
  readonly shown: string;
  /** True if commands in another terminal find the address and login of the cluster in the configuration. */
  readonly isKnown: boolean;
}

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** Address of the cluster that stores the data instead of the home. */
  readonly engine?: string;
  /** File that contains the address of the cluster. */
  readonly engineFile?: string;
  /** Bucket for large payloads. */
  readonly blobs?: string;
  /** Require no keys, even if other machines can reach the server. */
  readonly open?: boolean;
  /** Require keys on loopback too. */
  readonly auth?: boolean;
  readonly publicUrl?: string;
  /** Certificate file in PEM format. `tlsKey` is its private key. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Proxies whose X-Forwarded-* headers are trusted. */
  readonly trustProxy?: readonly string[];
  /** Allow A2A webhooks to this machine. */
  readonly loopbackWebhooks?: boolean;
  /** Project folders that the dashboard shows. */
  readonly projects?: readonly string[];
}

export interface Serving {
  /** Address with the actual port: `http://127.0.0.1:7474`. */
  readonly url: string;
  /** True if the disk of the home was full at the start. */
  readonly isFull: boolean;
  /** Resolves after a stop, when all accepted requests are answered. */
  readonly stopped: Promise<void>;
  stop(): void;
}

export interface RunningServer {
  readonly pid: number;
  readonly url: string;
  readonly version: string;
  /** ISO 8601, UTC. */
  readonly started_at: string;
  /** Log file, or null if the server runs at a terminal. */
  readonly log: string | null;
  /** Address of its cluster without the password, or null for the home folder. */
  readonly engine?: string | null;
}

export interface Health {
  readonly status: string;
  readonly version?: string;
  /** Reason why the server should be restarted, as a sentence. */
  readonly restart?: string;
  /** False if the store is full: the server still serves reads and deletions. */
  readonly writable?: boolean;
}

export interface PortTaken {
  /** Program that uses the port: `by node server.js (pid 4711)`. Empty if unknown. */
  readonly by: string;
  /** True if a relay uses the port. */
  readonly relay: boolean;
  readonly free: number | null;
}

export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'wrong';
  /** Result of the check. */
  readonly found: string;
  /** What the user should do about it. */
  readonly fix?: string;
}

/** Prompts, programs and pipelines on the threads of a relay. */
export interface AgentWork extends AsyncDisposable {
  readonly threads: ThreadsApi;
  readonly prompts: Prompts;
  readonly pipelines: Pipelines;
  /** Returns the model from flags and environment. Throws an error that says what to set if there is none. */
  model(choice: ModelChoice): Model;
  readonly programs: Programs;
}

export interface Programs {
  /** Lists the coding agents that are supported by name. */
  known(): readonly { readonly name: string; readonly about: string; readonly installed: boolean }[];
  /** Whether the program starts an interactive session if it gets no prompt. */
  converses(cli: string): boolean;
  run(run: ProgramRun): Promise<{ readonly code: number; readonly signal: string | null }>;
}

export interface ProgramRun {
  readonly cli: string;
  readonly args: readonly string[];
  readonly promptBy?: PromptWay;
  /** Null for an interactive session without a prompt. */
  readonly prompt: string | null;
  /** True to give the program the terminal. Otherwise its output goes to `onOutput`. */
  readonly terminal: boolean;
  /** Thread for RELAY_THREAD. Without it the variable is not changed. */
  readonly thread?: string;
  onOutput?(chunk: Uint8Array): Promise<void> | void;
  /** Receives standard error. By default the program inherits the standard error of this process. */
  onComplaint?(chunk: Uint8Array): void;
}

/** Options of the relay: their values, where each is set, and what is wrong. */
export interface Settings {
  /** Path of `<home>/config.json`. The file may not exist. */
  readonly file: string;
  show(): Setting[];
  /** Returns environment variables that are not options. The value of a secret is hidden. */
  variables(): { readonly name: string; readonly value: string | null; readonly help: string }[];
  /** Returns the value of an option including its password. Null if it is not set and has no default. */
  get(name: string): unknown;
  /**
   * Writes an option to the file and keeps everything else in it. One word is JSON, text or a list of one, depending on
   * the option. Several words are a list. Null removes the option.
   */
  set(name: string, words: readonly string[] | null): Promise<ChangedSetting>;
  /** Returns all problems, including those that only a server would notice. */
  check(): Promise<SettingProblem[]>;
}

export interface Setting {
  readonly name: string;
  /** Effective value. Passwords are hidden. */
  readonly value: unknown;
  readonly default: unknown;
  readonly from: 'default' | 'file' | 'environment';
  /** Environment variable that overrides the file. */
  readonly variable: string | null;
  readonly help: string;
  /** Reason why the configured value is invalid. The value is then the default. */
  readonly problem?: string;
}

export interface ChangedSetting {
  readonly name: string;
  readonly value: Json;
  readonly file: string;
  readonly changed: boolean;
  /** Environment variable that is set and overrides the written value. */
  readonly overridden_by: string | null;
  /** True if a running server of this home must be restarted to apply the change. */
  readonly restart: boolean;
}

export interface SettingProblem {
  readonly state: 'wrong' | 'warning';
  /** File with line, or environment variable. */
  readonly where: string;
  readonly what: string;
}

/** Guides that are part of the program, as Markdown. */
export interface Guides {
  readonly index: readonly GuideSection[];
  /** Returns the text of a guide, or null if there is none. */
  read(topic: string): string | null;
}

export interface GuideSection {
  readonly title: string;
  readonly guides: readonly Guide[];
}

export interface Guide {
  /** Name for `relay help`: the file name without `.md`. */
  readonly topic: string;
  readonly title: string;
  readonly about: string;
  /** Path relative to docs/. */
  readonly file: string;
}

export interface LocalStore extends AsyncDisposable {
  sweep(): ReturnType<RelayCore['sweepStore']>;
  usage: RelayCore['deps']['engine']['usage'];
  state: RelayCore['deps']['engine']['state'];
  /** Counts payloads whose files are missing, and names some of the files. */
  missingBodies(): Promise<{ readonly count: number; readonly some: readonly string[] }>;
  /** Reads every payload, one after the other, and checks it. */
  checkBodies(): AsyncIterable<BodyCheck>;
  /** Returns the error text of the database check, or null if there is no error. */
  checkDatabase(): Promise<string | null>;
}

export interface BodyCheck {
  readonly size: number;
  readonly damaged?: DamagedBody;
}

export interface DamagedBody {
  readonly key: string;
  /** File path below the home, or null if the payload is not a file. */
  readonly file: string | null;
  readonly fault: 'missing' | 'cut' | 'altered';
  /** Description of the pointer or artifact that uses it, or null if there is none. */
  readonly refers: string | null;
}

/** Receives the progress of a copy. */
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
  /** Keys of payloads that are damaged in the source and were not copied. */
  readonly lost: readonly string[];
  /** Time in ms during which the source rejected writes. */
  readonly frozen_ms: number;
}
