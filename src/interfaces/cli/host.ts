import type { Readable, Writable } from 'node:stream';
import type { Json } from '../../base/json.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { RemoteAgent } from '../../client/bridge/remote-agent.ts';
import type { AcpOptions, ExecOptions, Runner, TmuxOptions } from '../../client/bridge/runner.ts';
import type { Prices } from '../../client/pipelines/budget.ts';
import type { Pipelines } from '../../client/pipelines/pipelines.ts';
import type { Project } from '../../client/projects/project.ts';
import type { Prompts } from '../../client/prompts/prompts.ts';
import type { Model, ModelChoice, PromptWay } from '../../client/prompts/types.ts';
import type { SessionClient, SessionInfo, Turn, TurnHit } from '../../client/sessions/transcript.ts';
import type { Agent, AgentClaim, AgentMessage, Woken } from '../../contract/agents.ts';
import type { Inbox } from '../../contract/channels.ts';
import type { CreatedKey } from '../../contract/keys.ts';
import type { OutputReport, Pushed } from '../../contract/pointers.ts';
import type { Relay } from '../../contract/relay.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { ContextRelayOptions } from '../../sdk/options.ts';
import type { FrameSecret } from '../../text/frame.ts';
import type { Io } from './io.ts';

/** Services of the app that the commands use. Each service loads its code on the first call. */
export interface Host {
  /** Folder of the local store. It may not exist yet. */
  readonly home: string;
  /** Address of the server, from --url or CONTEXTRELAY_URL. Null if commands use the local store. */
  readonly remote: string | null;
  readonly program: ProgramHost;
  readonly relay: RelayHost;
  readonly store: StoreHost;
  readonly projects: ProjectHost;
  readonly agents: AgentHost;
  readonly outputs: OutputHost;
  /** Opens the transcripts of coding agents. */
  sessions(): Promise<SessionHost>;
  /** Updates the index of sessions in another process. Does nothing if the user has never searched. */
  indexSessions(folder: string): Promise<void>;
  /** Controls the server of the local store. */
  server(): Promise<ServerControl>;
  /** Reads the options in the home folder. It works even if some options are invalid. */
  settings(): Promise<Settings>;
}

/** The program itself and the machine it runs on. */
export interface ProgramHost {
  readonly version: string;
  /** Name and version of the JavaScript runtime: `Bun 1.4.4`, `Node 26.10.0`. */
  readonly runtime: string;
  /** Returns a shell command that starts this program in any folder of this machine, on the same relay. */
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
  open(o?: Pick<ContextRelayOptions, 'onConnection' | 'agent'>): Promise<OpenClient>;
  /** Opens a new store in a temporary folder. The folder is deleted when the client is disposed. */
  scratch(): Promise<OpenClient>;
  /** Returns the storage for the id of the default thread. */
  threadMemory(): Promise<ThreadMemory>;
  /** Returns the channel encryption keys of this machine. They are never sent to a relay. */
  keyring(): Promise<Keyring>;
  /** Secret of the home folder. Frame markers are made from it, so that nobody can guess them. */
  readonly frameSecret: FrameSecret;
  /**
   * Returns the newest unread messages of an agent, each only once per session. Aborting `signal` stops the
   * call. Returns null if there is no store.
   */
  peekInbox(
    agent: string,
    o: { readonly limit: number; readonly signal: AbortSignal; readonly session: string | null },
  ): Promise<Inbox | null>;
}

/** A session of a coding agent. */
export interface AgentSession {
  readonly client: string;
  readonly session: string;
  readonly folder: string;
  readonly agent: string;
  /** File with the transcript of the session. */
  readonly transcript?: string;
  /** Process id of the client. */
  readonly pid?: number;
  /** Executable of the client, if the system reports it. */
  readonly program?: string;
  /** Value of CODEX_HOME in a session of Codex, if it is set. */
  readonly codexHome?: string;
  /** Address of OpenCode's HTTP server. */
  readonly server?: string;
  /** Claims of other agents that the session was already warned of. */
  readonly warned?: readonly string[];
}

/** Operations on the local store as a whole. */
export interface StoreHost {
  /** Address of the configured NATS cluster, including its password. Null if the data is in the home folder. */
  readonly engine: string | null;
  open(): Promise<LocalStore>;
  /**
   * Creates the home folder and its configuration file if they are missing. Existing files are not changed.
   */
  init(): Promise<{ readonly config: string; readonly written: boolean }>;
  /**
   * Backs up the store, or the cluster at the address `engine`. `lost` lists the record keys of damaged
   * payloads, which the backup omits.
   */
  backup(target: string, engine?: string): Promise<{ readonly lost: readonly string[] }>;
  /**
   * Restores a backup. `engine` replaces the configured cluster, `blobs` the configured bucket for large
   * payloads.
   */
  restore(
    source: string,
    o: { force: boolean; partial: boolean; engine?: string; blobs?: string },
  ): Promise<{ readonly lost: readonly string[] }>;
  /**
   * Copies a store to an empty one. The old store stays in use until the end, and is then made read-only.
   * `blobs` is the bucket for large payloads of the new store.
   */
  copy(from: string, to: string, report: CopyReport, blobs?: string): Promise<EngineCopied>;
  /** Makes a store writable again that `copy` has made read-only. */
  reopen(place: string): Promise<{ readonly store: string; readonly was: string | null }>;
  /** Rebuilds the thread files and the search index from the event logs. */
  repair(): Promise<Repaired>;
  /** Opens the home folder of a Go relay. Changes nothing in it. */
  openLegacy(dir: string): Promise<LegacyHome & Disposable>;
}

export interface Repaired {
  readonly threads: number;
  readonly artifacts: number;
  /** Artifacts whose content is missing in the store, each as thread and ref. */
  readonly missing: readonly string[];
}

/** Outputs of commands that `relay tee` stores: in the local store or, with --url, on a server. */
export interface OutputHost {
  /** Runs a command, prints its output or an excerpt, and returns its exit code. */
  tee(io: Io, o: TeeOptions): Promise<number>;
  /** Returns the text unchanged if it fits the budget. Otherwise stores it and returns an excerpt. */
  excerpt(text: Uint8Array, o: Omit<TeeOptions, 'command'>): Promise<string>;
  /** Stores the outputs of killed commands, then lists all stored outputs, newest first. */
  list(): Promise<StoredOutput[]>;
  /** Sums the tokens of the stored outputs by command. */
  report(): Promise<OutputReport>;
  /** Deletes all stored outputs and returns their number. */
  prune(): Promise<number>;
  /** Runs a proxy between an MCP client and a server until one of them ends. Returns the exit code. */
  wrapMcp(o: WrapOptions): Promise<number>;
  /**
   * Records that this process writes pulled text to the pipe on stdout. A `relay tee` that reads the pipe then does not
   * shorten the text again.
   */
  notePulled(): Promise<void>;
}

export interface TeeOptions {
  /** The program and its arguments. Empty to read standard input. */
  readonly command: readonly string[];
  /** Maximum number of tokens to print. */
  readonly budget: number;
  /** Shell line of the command whose output is read from standard input. */
  readonly name?: string;
  readonly exit?: number | null;
  /** Formats the last line of an excerpt. `omitted` is the first range of lines that the excerpt leaves out. */
  lastLine(
    handle: string,
    about: Omit<OutputFacts, 'shown'>,
    omitted?: { readonly from: number; readonly to: number },
  ): string;
}

export interface WrapOptions extends Omit<McpOptions, 'tools' | 'onError'> {
  /** Name of the server in statistics. Null means the name that the server reports itself. */
  readonly name: string | null;
  /** The MCP server: a command that speaks MCP over stdio, or a URL. */
  readonly server: { readonly command: readonly string[] } | { readonly url: string };
  /** True if a handle in the arguments of a tool call is replaced by the text that it stands for. */
  readonly expands: boolean;
}

/** Metadata of a stored output. */
export interface OutputFacts {
  /** The program and its first argument, such as `npm test`. */
  readonly command: string;
  /** Exit code. Null if it is unknown: for standard input, or if `relay tee` was killed. */
  readonly exit: number | null;
  readonly lines: number;
  readonly tokens: number;
  /** Number of tokens of the excerpt that was printed. */
  readonly shown: number;
  /** Number of stored bytes. */
  readonly bytes: number;
  /** Number of the first line that was not stored because the output was too large. */
  readonly cut?: number;
  /** For the result of an MCP tool: hash that identifies the session of the client. */
  readonly session?: string;
}

export interface StoredOutput extends OutputFacts {
  readonly handle: string;
  readonly id: string;
  /** Time at which the output was stored, in ISO 8601, UTC. */
  readonly created_at: string;
  readonly expires_at: string;
}

/** Access to folders with project files. */
export interface ProjectHost {
  /** Opens the project in this folder, even if it has no project files yet. */
  open(folder: string, o?: ProjectOptions): Promise<Project>;
  /**
   * Creates the folder if it is missing, and opens it as a new project. `files` names a subfolder for the project
   * files. By default they are in the folder itself, or in .relay if the folder has files of another program with the
   * same names.
   */
  create(folder: string, o: ProjectOptions & { readonly files?: string }): Promise<Project>;
  /**
   * Finds the project in the folder, or in its nearest parent folder with project files. Returns null if
   * there is none.
   */
  find(from: string, o?: ProjectOptions): Promise<Project | null>;
}

/** Transcripts of this user's coding agents, read where the clients store them and never changed. */
export interface SessionHost {
  /** True if the option `sessions` is on. Otherwise all calls that read transcripts throw. */
  readonly isOn: boolean;
  /** Returns the repository that contains the folder, or the folder itself. */
  folderOf(cwd: string): string;
  /** Lists sessions, newest first. */
  list(filter: SessionFilter): Promise<SessionInfo[]>;
  /**
   * Finds a session by short name, id or beginning of the id. Without a name, returns the session that runs this
   * command, or else the newest session in the repository of `cwd`.
   */
  find(name: string | undefined, cwd: string): Promise<SessionInfo>;
  /**
   * Yields the turns of a session with masked secrets. `tally.skipped` counts the transcript lines of an unknown
   * format.
   */
  turns(session: SessionInfo, tally?: { skipped: number }): AsyncIterable<Turn>;
  /**
   * Searches the turns of sessions. `behind` is the number of sessions that are not indexed yet. Their turns are not
   * found.
   */
  search(
    query: string,
    o: Omit<SessionFilter, 'client'> & { readonly session?: SessionInfo },
  ): Promise<{ readonly hits: readonly TurnHit[]; readonly behind: number }>;
  /** Updates the search index for the sessions of a folder. Returns the number of sessions in the index. */
  index(folder: string | null): Promise<number>;
  /** Deletes a session from the index and hides it from all commands. With null, deletes the whole index. */
  forget(session: SessionInfo | null): Promise<void>;
  /** Runs a coding agent in this terminal and returns its exit code. */
  startClient(program: string, args: readonly string[], folder: string): Promise<number>;
}

export interface SessionFilter {
  /** Only sessions in this folder or below. Null means sessions in all folders. */
  readonly folder: string | null;
  readonly client?: SessionClient;
  readonly limit?: number;
}

/** Access to models, programs and agents. */
export interface AgentHost {
  /** Opens prompts, programs and pipelines. Programs run in the folder `cwd`. */
  openWork(cwd: string): Promise<AgentWork>;
  /** Creates the runner that a bridge uses for tasks. */
  openRunner(spec: RunnerSpec): Promise<Runner>;
  /** Opens a remote A2A agent. `url` is the address of its host, of the agent or of its agent card. */
  openRemote(url: string, o: { readonly token?: string }): Promise<RemoteAgent>;
  /**
   * Wakes the sessions of these agents on this machine and passes their waiting messages on. Null means all
   * agents. Returns one entry for each agent with a session here and a waiting message.
   */
  wake(relay: Relay, names: readonly string[] | null): Promise<Woken[]>;
  /** Loads the code that `attend` needs. */
  prepare(): Promise<void>;
  /** Registers the session that runs a hook as an agent, and returns access to its messages and claims. */
  attend(session: HookedSession): Promise<Attendance>;
  /**
   * Lets senders wake a session through this process, which waits for the session's messages. Yields when there may
   * be messages. Ends if the session has ended or can be woken in a better way, or if a newer process waits for its
   * messages.
   */
  wakeCalls(session: Pick<HookedSession, 'client' | 'session'>): AsyncIterable<void>;
  /**
   * Sets the agent name that sessions of a client get in a folder or, if the folder is null, in all folders of the
   * user.
   */
  chooseName(client: string, folder: string | null, name: string): Promise<void>;
  /** Wakes sessions on this machine whenever messages arrive, until `stop` aborts. */
  watch(relay: Relay, stop: AbortSignal, onWoken: (woken: Woken) => void): Promise<void>;
  /** Corrects the state of sessions on this machine that have ended without notice or wait for a person. */
  present(listed: { readonly agents: readonly Agent[] }): Promise<{ readonly agents: readonly Agent[] }>;
  /** Serves MCP over a pipe. Resolves when the client closes the pipe. */
  serveMcp(o: McpOptions): Promise<void>;
}

/** Facts that a hook knows about the session that runs it. */
export interface HookedSession {
  readonly client: string;
  readonly session: string;
  readonly folder: string;
  readonly transcript?: string;
  /** True if the session works on a prompt now. */
  readonly busy: boolean;
  /** The prompt that the hook got. It may contain messages that the client delivered from its queue. */
  readonly prompt?: string;
  /** Short description of what the session works on. */
  readonly worksOn?: string;
  /** Address of OpenCode's HTTP server, which may not be listening. */
  readonly server?: string;
}

/** A session that is registered as an agent. */
export interface Attendance extends AsyncDisposable {
  readonly name: string;
  /** Senders whose messages wait until a person allows them. */
  readonly held: readonly string[];
  /** File whose change tells that messages wait for the session. */
  readonly wakeMark: string;
  /** Returns the claims of other agents in the project. */
  claims(): Promise<readonly AgentClaim[]>;
  /** Returns whether this session was already warned of the claim. */
  isWarned(claim: AgentClaim): boolean;
  /** Records that the session was warned of the claims. */
  warn(claims: readonly AgentClaim[]): Promise<void>;
  /**
   * Returns the messages that the session has not been shown yet. A lease keeps other calls from returning
   * them too.
   */
  take(): Promise<readonly AgentMessage[]>;
  /** Records that messages were shown, or passed to a queue of the client. */
  mark(messages: readonly AgentMessage[], as: 'shown' | 'sent', route: string): Promise<void>;
}

/** Kind and options of a runner, from the command line. */
export type RunnerSpec =
  | ({ readonly kind: 'exec' } & ExecOptions)
  | ({ readonly kind: 'tmux' } & TmuxOptions)
  | ({ readonly kind: 'acp' } & AcpOptions)
  | { readonly kind: 'a2a'; readonly url: string };

export interface ProjectOptions {
  /** Timeout for git in ms. The brief omits results that arrive later. */
  readonly gitMs?: number;
  /** Time in ms to wait for the lock of another process. */
  readonly lockMs?: number;
  /** True if symbolic links may lead out of the folder. */
  readonly followLinks?: boolean;
  /** Folder of the project files, relative to the project folder, with a slash at the end. */
  readonly place?: string;
}

/** Installs the skill, the hooks and the MCP entry in coding agents. */
export interface Installer {
  readonly clients: readonly string[];
  /** Makes the changes. With `dryRun`, only reports them. */
  run(request: InstallRequest): Promise<InstallReport>;
}

export interface InstallRequest {
  readonly client: string;
  readonly scope: 'project' | 'user';
  readonly action: 'add' | 'remove';
  readonly only?: readonly string[];
  readonly dryRun?: boolean;
  /**
   * True if symbolic links may lead out of the project folder, or out of the folder with the user's settings.
   */
  readonly followLinks?: boolean;
  /** True to let Codex or Gemini CLI call our tools without asking. */
  readonly approveTools?: boolean;
  /** Value for `relay mcp --tools` in the client's MCP entry. */
  readonly tools?: string;
  /**
   * Changes only one feature: excerpts of long tool results (`tee`), or our proxy in front of one MCP server
   * (`wrap`).
   */
  readonly extra?: { readonly kind: 'tee' } | { readonly kind: 'wrap'; readonly server: string };
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
  /** Path of the file with the channel keys. */
  readonly path: string;
  list(): Promise<readonly { readonly channel: string; readonly created_at: string }[]>;
  get(channel: string): Promise<string | undefined>;
  put(channel: string, key: string): Promise<void>;
  /** Deletes the encryption key of a channel. Returns false if there was none. */
  remove(channel: string): Promise<boolean>;
  /**
   * Returns the key of an encrypted payload. Calls `name` only if the keyring holds keys of payloads, because `name`
   * may send a request.
   */
  pointerKey(name: () => Promise<string>): Promise<string | undefined>;
  /** Stores the key of an encrypted payload, and deletes keys of payloads that expired long ago. */
  keepPointerKey(name: string, key: string, expiresAt: string): Promise<void>;
}

/**
 * Storage for the id of the default thread. The local store and every server have their own default thread.
 */
export interface ThreadMemory {
  get(): string | undefined;
  set(id: string): Promise<void>;
  /** Clears the default thread if it is `id`. */
  forget(id: string): Promise<void>;
}

export interface LegacyHome {
  /** Differences between old and imported data in all threads, one sentence each. */
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
  /** What could not be imported unchanged from this thread, one sentence each. */
  readonly notes: readonly string[];
  /** Returns the thread as a bundle that a relay can import. */
  bundle(): ReadableStream<Uint8Array>;
}

export interface OpenClient extends AsyncDisposable {
  /** The whole API, called in this process or over HTTP. */
  readonly relay: Relay;
  /** Returns the SDK client, which can encrypt payloads. Its code is loaded on the first call. */
  client(): Promise<ContextRelay>;
  /** Address of the server, or null for the local store. */
  readonly remote: string | null;
  /**
   * Returns the pointer that `client` reads. For a URL of this machine's own server, it is a pointer of the local
   * store. A handle gets the key that `keepKey` stored.
   */
  resolve(url: string): Promise<string>;
  /**
   * Stores the key of an encrypted payload in the keyring of this machine, under relay, tenant and handle.
   * Returns the handle, or null if the relay gives pointers no handles.
   */
  keepKey(pushed: Pushed): Promise<string | null>;
}

export interface McpOptions {
  /** Groups or names of MCP tools, separated by commas. Null for the default tools. */
  readonly tools: string | null;
  /** Maximum number of tokens that one pull returns. */
  readonly budget: number;
  /** Working directory of the client. */
  readonly folder: string;
  /** Replaces `relay` in our texts by the command that the user has to type. See `Io.typed`. */
  typed(text: string): string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  onError(error: unknown): void;
  onWarning(text: string): void;
}

/** Starts, stops and inspects the server of the local store. */
export interface ServerControl {
  /** Options of `relay up` from the configuration. */
  readonly defaults: ServeOptions;
  /** Returns the running server of this home, or null if there is none. */
  running(): RunningServer | null;
  /**
   * Returns the last server of this home if it ended unexpectedly, so that its pid file is still there.
   * Otherwise returns null.
   */
  leftBehind(): RunningServer | null;
  /** Returns whether a server with these options requires API keys. */
  asksForKeys(o: ServeOptions): boolean;
  /**
   * Returns the address at which other machines reach a server with these options. Returns null if only this
   * machine can reach it.
   */
  exposedAs(o: ServeOptions): string | null;
  /** Returns the NATS cluster that a server with these options uses, or null if the data is in the home folder. */
  cluster(o: ServeOptions): Cluster | null;
  /** Creates an admin API key if the store has none. Returns null if the store already has one. */
  firstKey(o: ServeOptions): Promise<CreatedKey | null>;
  /**
   * Runs the server in this process. Rejects with `port_taken`, or with `failed` if another server uses this
   * home.
   */
  serve(o: ServeOptions): Promise<Serving>;
  /** Starts a server in the background and waits until it answers. */
  detach(o: ServeOptions): Promise<RunningServer>;
  /** Returns the addresses at which other machines reach a server that listens on `host`. */
  reachableAt(host: string, url: string): Promise<string[]>;
  /** Stops the server and waits until it has ended. Returns false if it has not ended in time. */
  stop(server: RunningServer, o: { force: boolean }): Promise<boolean>;
  /** Returns the health of a server, or null if no relay answers at the address. */
  health(url: string): Promise<Health | null>;
  /** Returns which program uses the port, and another port that is free. Returns null if the port is free. */
  portTaken(o: ServeOptions): Promise<PortTaken | null>;
}

export interface Cluster {
  /** Address of the cluster without the password. */
  readonly shown: string;
  /**
   * True if the configuration has the cluster's address and login, so that commands in other terminals can
   * use the cluster.
   */
  readonly isKnown: boolean;
}

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** Address of the NATS cluster that stores the data. By default, the data is in the home folder. */
  readonly engine?: string;
  /** File that contains the address of the cluster. */
  readonly engineFile?: string;
  /** Bucket for large payloads. */
  readonly blobs?: string;
  /** True if the server requires no API keys, even if other machines can reach it. */
  readonly open?: boolean;
  /** True if the server requires API keys, even if only this machine can reach it. */
  readonly auth?: boolean;
  readonly publicUrl?: string;
  /** Certificate file in PEM format. */
  readonly tlsCert?: string;
  /** File with the private key of the certificate. */
  readonly tlsKey?: string;
  /** Proxies whose X-Forwarded-* headers are trusted. */
  readonly trustProxy?: readonly string[];
  /** True if A2A webhooks may call this machine. */
  readonly loopbackWebhooks?: boolean;
  /** Project folders that the dashboard shows. */
  readonly projects?: readonly string[];
}

export interface Serving {
  /** Address with the port that is used: `http://127.0.0.1:7474`. */
  readonly url: string;
  /** True if the disk of the home folder was full when the server started. */
  readonly isFull: boolean;
  /** Resolves when the server has stopped and all accepted requests were answered. */
  readonly stopped: Promise<void>;
  stop(): void;
}

export interface RunningServer {
  readonly pid: number;
  readonly url: string;
  readonly version: string;
  /** Time of the start, in ISO 8601, UTC. */
  readonly started_at: string;
  /** Path of the log file. Null if the server runs at a terminal. */
  readonly log: string | null;
  /** Address of the cluster without the password. Null if the data is in the home folder. */
  readonly engine?: string | null;
}

export interface Health {
  readonly status: string;
  readonly version?: string;
  /** Why the server should be restarted, as one sentence. */
  readonly restart?: string;
  /**
   * True if the store accepts writes. A full store accepts none, but the server still answers reads and
   * deletions.
   */
  readonly writable?: boolean;
}

export interface PortTaken {
  /** Program that uses the port: `by node server.js (pid 4711)`. Empty if the program is unknown. */
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
  /** What the user can do about the problem. */
  readonly fix?: string;
}

/** Prompts, programs and pipelines that work on the threads of a relay. */
export interface AgentWork extends AsyncDisposable {
  readonly threads: ThreadsApi;
  readonly prompts: Prompts;
  readonly pipelines: Pipelines;
  /**
   * Returns the model that the flags, the environment and the configuration select. If none is selected, the
   * error says what to set.
   */
  model(choice: ModelChoice): Model;
  readonly programs: Programs;
  /** Prices of models, from the configuration. */
  readonly prices: Prices;
  readonly relay: Relay;
}

export interface Programs {
  /** Lists the coding agents that --cli supports by name. */
  known(): readonly { readonly name: string; readonly about: string; readonly installed: boolean }[];
  /** Returns whether the program starts an interactive session when it gets no prompt. */
  converses(cli: string): boolean;
  /** Returns whether the program is installed. `cli` is a name on the PATH, or a path. */
  exists(cli: string): boolean;
  run(run: ProgramRun): Promise<{ readonly code: number; readonly signal: string | null }>;
}

export interface ProgramRun {
  readonly cli: string;
  readonly args: readonly string[];
  readonly promptBy?: PromptWay;
  /** The prompt. Null for an interactive session without a prompt. */
  readonly prompt: string | null;
  /** True if the program uses the terminal of this process. Otherwise `onOutput` gets its output. */
  readonly terminal: boolean;
  /** Thread id that the program gets as RELAY_THREAD. By default it inherits the variable. */
  readonly thread?: string;
  onOutput?(chunk: Uint8Array): Promise<void> | void;
  /**
   * Receives the standard error of the program. By default, the program inherits the standard error of this
   * process.
   */
  onComplaint?(chunk: Uint8Array): void;
}

/** Options of the relay: their values, where each value is set, and what is wrong with them. */
export interface Settings {
  /** Path of `<home>/config.json`. The file may not exist. */
  readonly file: string;
  show(): Setting[];
  /** Returns the environment variables that are not options. The values of secrets are hidden. */
  variables(): { readonly name: string; readonly value: string | null; readonly help: string }[];
  /**
   * Returns the value of an option, including a password in it. Returns null if the option is not set and has
   * no default.
   */
  get(name: string): unknown;
  /**
   * Sets an option in config.json and keeps the rest of the file. Several words form a list. A single word is
   * read as JSON, text or a list of one item, depending on the option. Null removes the option.
   */
  set(name: string, values: readonly string[] | null): Promise<ChangedSetting>;
  /** Returns all problems of the options, including problems that only a server would notice. */
  check(): Promise<SettingProblem[]>;
}

export interface Setting {
  readonly name: string;
  /** Value in use. Passwords are hidden. */
  readonly value: unknown;
  readonly default: unknown;
  readonly from: 'default' | 'file' | 'environment';
  /** Environment variable that overrides the file. */
  readonly variable: string | null;
  readonly help: string;
  /** Why the configured value is invalid. `value` is then the default. */
  readonly problem?: string;
}

export interface ChangedSetting {
  readonly name: string;
  readonly value: Json;
  readonly file: string;
  readonly changed: boolean;
  /** Environment variable that is set and overrides the value in the file. */
  readonly overridden_by: string | null;
  /** True if a running server of this home must be restarted to apply the change. */
  readonly restart: boolean;
}

export interface SettingProblem {
  readonly state: 'wrong' | 'warning';
  /** Place of the problem: a file with a line, or an environment variable. */
  readonly where: string;
  readonly what: string;
}

/** Guides that are part of the program, as Markdown. */
export interface Guides {
  readonly index: readonly GuideSection[];
  /** Returns the text of a guide, or null if there is no guide with this topic. */
  read(topic: string): string | null;
}

export interface GuideSection {
  readonly title: string;
  readonly guides: readonly Guide[];
}

export interface Guide {
  /** Topic name for `relay help`: the file name without `.md`. */
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
  /** Returns the number of payloads whose files are missing, and examples of these files. */
  missingBodies(): Promise<{ readonly count: number; readonly some: readonly string[] }>;
  /** Reads and checks every payload, one after the other. */
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
  /** Path of the file, relative to the home. Null if the payload has no file of its own. */
  readonly file: string | null;
  readonly fault: 'missing' | 'cut' | 'altered';
  /** Describes the pointer or artifact that uses the payload. Null if nothing uses it. */
  readonly refers: string | null;
}

/** Receives the progress of a copy. */
export interface CopyReport {
  /** Called when a step begins that will process `items` items. 0 if the number is unknown. */
  step(name: 'copy' | 'check' | 'switch', items: number): void;
  /** Adds items that were processed since the last call. */
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
  /** Record keys of payloads that are damaged in the source and were not copied. */
  readonly lost: readonly string[];
  /** Time in ms during which the source rejected writes. */
  readonly frozen_ms: number;
}
