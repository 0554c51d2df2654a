import type { ComponentChildren, ComponentType } from 'preact';
import { Component } from 'preact';
import { Agents } from '../pages/agents/agents.tsx';
import { Channels } from '../pages/channels/channels.tsx';
import { Costs } from '../pages/costs/costs.tsx';
import { Files } from '../pages/files/files.tsx';
import { Keys } from '../pages/keys/keys.tsx';
import { Overview } from '../pages/overview/overview.tsx';
import { Pipelines } from '../pages/pipelines/pipelines.tsx';
import { Pointer } from '../pages/pointers/pointer.tsx';
import { Pointers } from '../pages/pointers/pointers.tsx';
import { Projects } from '../pages/projects/projects.tsx';
import { Tasks } from '../pages/tasks/tasks.tsx';
import { Compare } from '../pages/threads/compare.tsx';
import { SharedThread } from '../pages/threads/thread.tsx';
import { Threads } from '../pages/threads/threads.tsx';
import { Failure } from '../parts/notices.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { needsKey, wantsKey } from '../session/session.ts';
import { segments, to } from './router.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

type Page = ComponentType<{ parts: readonly string[] }>;

/** Pages by the first segment of their address. A page loads a large library only when the page needs it. */
const PAGES: { readonly [first: string]: Page } = {
  '': Overview,
  threads: Threads,
  compare: Compare,
  channels: Channels,
  pointers: Pointers,
  pull: Pointer,
  agents: Agents,
  costs: Costs,
  files: Files,
  pipelines: Pipelines,
  tasks: Tasks,
  projects: Projects,
  keys: Keys,
  share: SharedThread,
};

export function App() {
  const [first = '', ...parts] = segments.value;
  const Page = Object.hasOwn(PAGES, first) ? PAGES[first] : undefined;
  // Pointers with the visibility `link`, and shared threads, can be opened without a key. Their pages ask for a
  // key only when the visitor chooses to sign in.
  const byLink = first === 'pull' || first === 'share';
  if (byLink ? wantsKey.value : needsKey.value) {
    return (
      <Shell plain>
        <SignIn byLink={byLink} />
      </Shell>
    );
  }
  return (
    <Shell plain={byLink}>
      <ErrorBoundary key={first}>{Page ? <Page parts={parts} /> : <NotFound />}</ErrorBoundary>
    </Shell>
  );
}

/** Shows the error of a page in its place, so that the frame around the page keeps working. */
class ErrorBoundary extends Component<{ children: ComponentChildren }, { error?: unknown }> {
  override state: { error?: unknown } = {};
  override componentDidCatch(error: unknown): void {
    this.setState({ error });
  }
  render() {
    if (this.state.error === undefined) return this.props.children;
    return <Failure error={this.state.error} again={() => this.setState({ error: undefined })} />;
  }
}

function NotFound() {
  return (
    <>
      <PageHead title="Page not found" />
      <p>
        Go to the <a href={to()}>overview</a>, or search with <kbd>/</kbd>.
      </p>
    </>
  );
}
