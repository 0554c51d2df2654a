/** Public API of the package `contextrelay`. Removing or renaming an export breaks users. */
export { type ErrorCode, RelayError } from '../base/errors.ts';
export type { Json, JsonObject } from '../base/json.ts';
export type { TokenCount, TokenCounter } from '../base/tokens.ts';
export { AgentBridge } from '../client/bridge/agent-bridge.ts';
export type {
  AgentBridgeOptions,
  BridgeEvent,
  SendOptions,
  SentTask,
  TaskAnswer,
  WaitOptions,
} from '../client/bridge/options.ts';
export type {
  AcpOptions,
  ExecOptions,
  Job,
  JobMessage,
  Ran,
  Runner,
  StuckReason,
  TmuxOptions,
} from '../client/bridge/runner.ts';
export type { BridgeWorker } from '../client/bridge/worker.ts';
export type {
  Agent,
  AgentClaim,
  AgentMessage,
  AgentsApi,
  Conversation,
  MessageOptions,
} from '../contract/agents.ts';
export type {
  ChannelDetail,
  ChannelPage,
  ChannelsApi,
  Inbox,
  InboxApi,
  Message,
  Nacked,
  Published,
  Since,
  SubscribeOptions,
} from '../contract/channels.ts';
export type { FileInfo, FilePage, FileRefused, FilesApi, ListOptions } from '../contract/files.ts';
export type {
  Cost,
  Inspected,
  Peeked,
  Pushed,
  Receipt,
  ReceiptLadder,
  Renewed,
  Visibility,
} from '../contract/pointers.ts';
export type { AnswerLink, AskedQuestion, QuestionStatus, QuestionsApi } from '../contract/questions.ts';
export type {
  Task,
  TaskInfo,
  TaskQuery,
  TaskResult,
  TaskState,
  TaskStatus,
  TasksApi,
} from '../contract/tasks.ts';
export type {
  Artifact,
  ArtifactType,
  CapabilitiesApi,
  EnvelopeInput,
  Header,
  Page,
  ReadKind,
  RenderFormat,
  RenderOptions,
  ReportFormat,
  State,
  Stats,
  ThreadEvent,
  ThreadsApi,
  VersionRef,
} from '../contract/threads.ts';
export type { PatchOp } from '../formats/json-patch/apply.ts';
export type { AskOptions } from '../sdk/ask.ts';
export { ContextRelay } from '../sdk/context-relay.ts';

export type { FileRead, FileSpace, Files, FileToWrite, FileWriteOptions } from '../sdk/files.ts';
export type {
  CallOptions,
  ChannelKeys,
  ContextRelayOptions,
  PublishOptions,
  PullBytesOptions,
  PushData,
  PushOptions,
  RequestReport,
} from '../sdk/options.ts';
export type { WithSignal } from '../sdk/signals.ts';
export type {
  MessageHandler,
  ReceivedMessage,
  Subscription,
  SubscriptionOptions,
} from '../sdk/subscription.ts';
export type {
  ChangeOptions,
  PutOptions,
  StoredArtifact,
  Thread,
  ThreadArtifacts,
  Threads,
} from '../sdk/threads.ts';
export type { Part, PartRequest } from '../text/parts/part-request.ts';
