import { count } from '../../../src/base/format.ts';
import type { Agent, AgentClaim } from '../../../src/contract/agents.ts';
import type { ProjectView } from '../../../src/contract/projects.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command, CopyButton } from '../../parts/copy-button.tsx';
import { readParams, TextFilter, ValueFilter } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { Facts, PageHead } from '../../parts/page-head.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { VirtualList } from '../../parts/virtual-rows.tsx';
import { useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';
import { revealHidden } from '../../viewers/reveal-hidden.ts';
import { AgentList } from '../agents/agent-list.tsx';
import { Claims } from '../agents/agents.tsx';
import { formatMoney, sumBy } from '../costs/costs.tsx';

const POLL_MS = 5_000;
const LIST = { class: 'virtual-list', rowClass: 'virtual-row', rowHeight: 58 } as const;
const COST_DAYS = 7;

/** The page of a project: todos, state, decisions and brief from its files, and its agents and claims. */
export function ProjectPage({ id }: { id: string }) {
  const project = useAsked((relay) => relay.projects.get(id), [id], { every: POLL_MS });
  const { value } = project;
  return (
    <>
      <PageHead title={value?.name ?? 'Project'} above={{ title: 'Projects', href: to('projects') }}>
        {value?.description && <ForeignText text={value.description} max={300} />}
        {value && <Cost folder={value.folder} />}
      </PageHead>
      <Answer of={project}>{(found) => <Body project={found} />}</Answer>
    </>
  );
}

/** Cost of the models that were called in the project's folder. */
function Cost({ folder }: { folder: string }) {
  const spending = useAsked((relay) => relay.activity.spending({ days: COST_DAYS }), []);
  if (!spending.value) return null;
  const { rows, prices } = spending.value;
  const [sum] = sumBy(rows, prices, (row) => row.project).filter(({ name }) => name === folder);
  const tokens = sum ? `${count(sum.input_tokens + sum.output_tokens)} tokens` : 'no tokens';
  return (
    <a href={`${to('costs')}?project=${encodeURIComponent(folder)}`}>
      {sum && sum.cost !== null && `${formatMoney(sum.cost, prices.currency)}, `}
      {tokens} in the last {COST_DAYS} days
    </a>
  );
}

function Body({ project }: { project: ProjectView }) {
  const { folder } = project;
  const work = useAsked(
    async ({ agents }) => {
      if (!hasScope('tasks')) return null;
      const [all, { claims }] = await Promise.all([agents.list(), agents.claims({ project: folder })]);
      return { agents: all.agents.filter(({ session }) => session?.project === folder), claims };
    },
    [folder],
    { every: POLL_MS },
  );
  return (
    <>
      {project.broken.map((what) => (
        <p key={what} class="warning" role="status">
          <ForeignText text={what} max={500} />
        </p>
      ))}
      <Tabs
        label="Views of the project"
        tabs={[
          {
            name: 'todos',
            title: 'Todos',
            count: project.todos.length,
            render: () => <Todos todos={project.todos} />,
          },
          { name: 'state', title: 'State', render: () => <State project={project} /> },
          {
            name: 'decisions',
            title: 'Decisions',
            count: project.decisions.length,
            render: () => <Decisions decisions={project.decisions} />,
          },
          hasScope('tasks') && {
            name: 'agents',
            title: 'Agents',
            count: work.value?.agents.length,
            render: () => <Answer of={work}>{(found) => found && <Work {...found} />}</Answer>,
          },
          {
            name: 'brief',
            title: 'Brief',
            render: () => (
              <section class="message" aria-label="Brief for a new session">
                <header>
                  <h2>Brief for a new session</h2>
                  <CopyButton text={project.brief} what="brief" />
                </header>
                <pre class="break" tabIndex={0}>
                  {revealHidden(project.brief)}
                </pre>
              </section>
            ),
          },
        ]}
      />
    </>
  );
}

/** Lists who works on the project, and which files and todos the agents have claimed. */
function Work({ agents, claims }: { agents: readonly Agent[]; claims: readonly AgentClaim[] }) {
  return (
    <div class="stack">
      {agents.length === 0 ? (
        <Empty title="No session works in this folder.">
          <p>
            Sessions of coding agents appear here when <code>relay install</code> has set up their hooks.
          </p>
        </Empty>
      ) : (
        <section class="panel">
          <AgentList agents={agents} />
        </section>
      )}
      <section aria-labelledby="claims">
        <h2 id="claims">Claims</h2>
        <Claims claims={claims} within />
      </section>
    </div>
  );
}

function Todos({ todos }: { todos: ProjectView['todos'] }) {
  const [status, q] = readParams('status', 'q');
  if (todos.length === 0)
    return (
      <Empty title="There are no todos yet.">
        <Command line='relay todo add "Write the load test"' about="Add one, in the project folder:" />
      </Empty>
    );
  const lowerQuery = q.toLowerCase();
  const rows = todos.filter(
    (todo) =>
      (status === '' || todo.status === status) &&
      `${todo.id} ${todo.title} ${todo.notes}`.toLowerCase().includes(lowerQuery),
  );
  return (
    <>
      <div class="bar">
        <TextFilter label="Contains" param="q" />
        <ValueFilter
          label="Status"
          param="status"
          all="all"
          values={todos.map((todo) => todo.status)}
          labelOf={(each) => each.replaceAll('_', ' ')}
        />
        <span class="soft align-end filter-count" role="status">
          {rows.length === todos.length ? `${todos.length} in total` : `${rows.length} of ${todos.length}`}
        </span>
      </div>
      {rows.length === 0 ? (
        <Empty title="No todo matches these filters." />
      ) : (
        <VirtualList label="Todos" {...LIST} rows={rows}>
          {({ id, title, status, priority, notes, created, completed_at }) => (
            <>
              <div class="agent">
                <p>
                  <span class="mono soft">{revealHidden(id)}</span> <ForeignText text={title} max={300} />
                </p>
                {notes !== '' && <ForeignText as="p" class="soft small break" text={notes} max={1_000} />}
                <p class="soft small">
                  {priority} priority, {completed_at ? 'done' : 'added'} <Ago at={completed_at ?? created} />
                </p>
              </div>
              <Badge word={status.replaceAll('_', ' ')} />
            </>
          )}
        </VirtualList>
      )}
    </>
  );
}

/** The state at the end of the last session: its task, what is blocked, and the hand-offs. */
function State({ project: { state, handoffs, todos } }: { project: ProjectView }) {
  const blocked = [
    ...(state?.blocked ?? []),
    ...todos.filter(({ status }) => status === 'blocked').map(({ id, title }) => `${id} ${title}`),
  ];
  if (!state?.current_task && blocked.length === 0 && handoffs.length === 0)
    return (
      <Empty title="No session has saved its state yet.">
        <Command
          line='relay project sync --task "Write the load test" --next "Run it on the staging system"'
          about="Save it, in the project folder:"
        />
      </Empty>
    );
  return (
    <div class="columns even">
      <section class="panel" aria-labelledby="now">
        <h2 id="now">Now</h2>
        <Facts
          rows={[
            ['Task', state?.current_task ?? 'none'],
            ['Phase', state?.phase],
            ['In progress', state?.in_progress],
            ['Notes', state?.notes],
          ]
            .filter(([, text]) => text)
            .map(
              ([name, text]) =>
                [name!, <ForeignText as="p" class="break" text={text!} max={1_000} />] as const,
            )
            .concat([['Saved', <Ago at={state?.last_update} />]])}
        />
        <Items title="Blocked" items={blocked} none="Nothing is blocked." />
        <Items title="Next steps" items={state?.next_steps ?? []} none="No next steps." />
      </section>
      <section class="panel" aria-labelledby="handoffs">
        <h2 id="handoffs">Hand-offs</h2>
        {handoffs.length === 0 ? (
          <p class="soft">No session has handed work to another one.</p>
        ) : (
          <ul class="rows">
            {handoffs.slice(0, 50).map(({ id, task, status, created, deadline, result }) => (
              <li key={id}>
                <div class="agent">
                  <p>
                    <span class="mono soft">{revealHidden(id)}</span> <ForeignText text={task} max={300} />
                  </p>
                  {result && <ForeignText as="p" class="soft small break" text={result} max={600} />}
                  <p class="soft small">
                    created <Ago at={created} />
                    {status === 'open' && deadline && (
                      <>
                        , due <Ago at={deadline} />
                      </>
                    )}
                  </p>
                </div>
                <Badge word={status} />
              </li>
            ))}
          </ul>
        )}
      </section>
    </div>
  );
}

function Items({ title, items, none }: { title: string; items: readonly string[]; none: string }) {
  return (
    <>
      <h3 class="spaced">{title}</h3>
      {items.length === 0 ? (
        <p class="soft">{none}</p>
      ) : (
        <ul class="bullets">
          {items.slice(0, 100).map((item) => (
            <li key={item} class="break">
              <ForeignText text={item} max={500} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Decisions({ decisions }: { decisions: ProjectView['decisions'] }) {
  if (decisions.length === 0)
    return (
      <Empty title="There are no decisions yet.">
        <p>Write decisions into the project’s decisions.md, so that the next session knows them.</p>
      </Empty>
    );
  return (
    <VirtualList label="Decisions" {...LIST} rows={decisions}>
      {({ id, title, date, status, decision, superseded }) => (
        <>
          <div class="agent">
            <p>
              <span class="mono soft">{revealHidden(id)}</span>{' '}
              <ForeignText as="strong" text={title} max={300} />
            </p>
            <ForeignText as="p" class="break" text={decision} max={4_000} />
            {date !== null && <p class="soft small">{revealHidden(date)}</p>}
          </div>
          <Badge word={superseded ? 'superseded' : status.toLowerCase()} />
        </>
      )}
    </VirtualList>
  );
}
