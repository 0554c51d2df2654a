import { useState } from 'preact/hooks';
import type { Activity } from '../../../src/contract/activity.ts';
import type { Agent, AgentClaim, Conversation } from '../../../src/contract/agents.ts';
import { navigate, to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { isWithin, readParams, Select, TimeFilter, ValueFilter } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';
import { AgentList } from './agent-list.tsx';
import { ConversationPage, MessageForm } from './conversation.tsx';
import { Questions } from './questions.tsx';

const REFRESH = { every: 10_000, live: ({ kind }: Activity) => /^(?:agent|task)\./.test(kind) };

/** The page of all agents, conversations, claims and questions, in tabs, or the page of one conversation. */
export function Agents({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <AgentTabs /> : <ConversationPage id={id} key={id} />;
}

function AgentTabs() {
  const agents = useAsked((relay) => relay.agents.list(), [], REFRESH);
  const conversations = useAsked((relay) => relay.agents.conversations({ limit: 100 }), [], REFRESH);
  const claims = useAsked((relay) => relay.agents.claims(), [], REFRESH);
  const questions = useAsked(
    async (relay) => (hasScope('threads') ? relay.questions.list() : { questions: [] }),
    [],
    REFRESH,
  );
  return (
    <>
      <PageHead title="Agents" />
      <Tabs
        label="Agents"
        tabs={[
          {
            name: 'list',
            title: 'All agents',
            count: agents.value?.agents.length,
            render: () => <Answer of={agents}>{({ agents }) => <FilteredAgents agents={agents} />}</Answer>,
          },
          {
            name: 'conversations',
            title: 'Conversations',
            count: conversations.value?.conversations.length,
            render: () => (
              <Answer of={conversations}>{(found) => <Conversations list={found.conversations} />}</Answer>
            ),
          },
          {
            name: 'claims',
            title: 'Claims',
            count: claims.value?.claims.length,
            render: () => <Answer of={claims}>{(found) => <Claims claims={found.claims} />}</Answer>,
          },
          hasScope('threads') && {
            name: 'questions',
            title: 'Questions',
            count: questions.value?.questions.length,
            render: () => (
              <Answer of={questions}>
                {(found) => <Questions questions={found.questions} again={questions.again} />}
              </Answer>
            ),
          },
          hasScope('tasks') && {
            name: 'write',
            title: 'Write',
            render: () => <WriteMessage agents={agents.value?.agents ?? []} />,
          },
        ]}
      />
    </>
  );
}

function FilteredAgents({ agents }: { agents: readonly Agent[] }) {
  const [state, kind] = readParams('state', 'kind');
  const matching = agents.filter(
    (agent) => (state === '' || agent.state === state) && (kind === '' || agent.kind === kind),
  );
  return (
    <>
      {agents.length > 0 && (
        <div class="bar">
          <ValueFilter label="State" param="state" values={agents.map((agent) => agent.state)} />
          <ValueFilter label="Kind" param="kind" values={agents.map((agent) => agent.kind)} />
        </div>
      )}
      {matching.length === 0 && agents.length > 0 ? (
        <Empty title="No agent matches these filters." />
      ) : (
        <section class="panel">
          <AgentList agents={matching} />
        </section>
      )}
    </>
  );
}

const CONVERSATION_COLUMNS: readonly Column<Conversation>[] = [
  {
    title: 'About',
    width: 'minmax(0, 1fr)',
    cell: ({ id, about, messages, limit }) => (
      <>
        <a class="row-link one-line" href={to('agents', id)}>
          <ForeignText text={about || id} max={160} />
        </a>{' '}
        {messages >= limit && <Badge tone="warn">waits for you</Badge>}
      </>
    ),
  },
  {
    title: 'Between',
    width: 'minmax(0, 260px)',
    cell: ({ agents }) => <ForeignText text={agents.join(', ')} max={80} />,
    wide: true,
  },
  { title: 'Messages', width: '76px', cell: ({ messages }) => messages, figure: true },
  { title: 'Latest', width: '84px', cell: ({ last_at }) => <Ago at={last_at} /> },
];

function Conversations({ list }: { list: readonly Conversation[] }) {
  const [agent, time] = readParams('agent', 'time');
  if (list.length === 0)
    return (
      <Empty title="No agent has written to another one yet.">
        <Command line='relay send --queue reviewer "Please review the last commit"' about="Write to one:" />
      </Empty>
    );
  const matching = list.filter(
    ({ agents, last_at }) => (agent === '' || agents.includes(agent)) && isWithin(time, last_at),
  );
  return (
    <>
      <div class="bar">
        <ValueFilter label="Agent" param="agent" values={list.flatMap(({ agents }) => agents)} />
        <TimeFilter />
      </div>
      <Table
        label="Conversations, newest first"
        what="conversation"
        columns={CONVERSATION_COLUMNS}
        rows={matching}
        keyOf={({ id }) => id}
      />
    </>
  );
}

const CLAIM_COLUMNS: readonly Column<AgentClaim>[] = [
  { title: 'What', width: 'minmax(0, 1fr)', cell: ({ what }) => <ForeignText text={what} max={120} /> },
  { title: 'By', width: 'minmax(0, 140px)', cell: ({ by }) => <ForeignText text={by} max={60} /> },
  {
    title: 'Project',
    width: 'minmax(0, 160px)',
    cell: ({ project }) => <ForeignText text={project} max={80} />,
    wide: true,
  },
  { title: 'Ends', width: '92px', cell: ({ until }) => <Ago at={until} /> },
];

/** A table of claims. With `within`, all claims are of one project, so the table does not name the project. */
export function Claims({ claims, within = false }: { claims: readonly AgentClaim[]; within?: boolean }) {
  const [agent, project] = readParams('agent', 'project');
  if (claims.length === 0)
    return (
      <Empty title="No agent holds a claim.">
        <p>A claim tells other agents which files or todos an agent works on. It is advisory.</p>
        <Command line="relay claim 'src/auth/**'" about="Claim files, in the project folder:" />
      </Empty>
    );
  return (
    <>
      <div class="bar">
        <ValueFilter label="Agent" param="agent" values={claims.map(({ by }) => by)} />
        {!within && (
          <ValueFilter label="Project" param="project" values={claims.map((claim) => claim.project)} />
        )}
      </div>
      <Table
        label="Claims"
        what="claim"
        columns={CLAIM_COLUMNS.filter(({ title }) => !within || title !== 'Project')}
        rows={claims.filter(
          (claim) => (agent === '' || claim.by === agent) && (project === '' || claim.project === project),
        )}
        keyOf={({ project, what }) => `${project} ${what}`}
      />
    </>
  );
}

function WriteMessage({ agents }: { agents: readonly Agent[] }) {
  const names = agents.filter(({ kind }) => kind === 'session').map(({ name }) => name);
  const [name, setName] = useState('');
  if (names.length === 0)
    return (
      <Empty title="No session is running.">
        <p>
          Sessions of coding agents appear here when <code>relay install</code> has set up their hooks.
        </p>
      </Empty>
    );
  return (
    <MessageForm
      label="Message"
      rows={5}
      send={async (relay, text) => {
        const { messages } = await relay.agents.send(name || names[0]!, text);
        navigate(to('agents', messages[0]!.conversation));
      }}
    >
      <Select
        label="To"
        value={name || names[0]!}
        set={setName}
        options={[...names.map((one) => [one, one] as const), ['*', 'all agents']]}
      />
    </MessageForm>
  );
}
