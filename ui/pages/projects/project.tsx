import type { ProjectView } from '../../../src/contract/projects.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command, CopyButton } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { useEvery } from '../../session/live.ts';
import { revealHidden } from '../../viewers/reveal-hidden.ts';

const POLL_MS = 5_000;

/** State of a project, read from its files. */
export function ProjectPage({ id }: { id: string }) {
  const project = useAsked((relay) => relay.projects.get(id), [id]);
  useEvery(POLL_MS, project.again);
  const { value } = project;
  return (
    <>
      <PageHead title={value?.name ?? 'Project'} above={{ title: 'Projects', href: to('projects') }}>
        {value?.description && <ForeignText text={value.description} max={300} />}
      </PageHead>
      <Answer of={project}>{(found) => <Body project={found} />}</Answer>
    </>
  );
}

function Body({ project }: { project: ProjectView }) {
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
          {
            name: 'decisions',
            title: 'Decisions',
            count: project.decisions.length,
            render: () => <Decisions decisions={project.decisions} />,
          },
          {
            name: 'brief',
            title: 'Brief',
            render: () => (
              <section class="message" aria-label="Brief for a new session">
                <header>
                  <h3>Brief for a new session</h3>
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

function Todos({ todos }: { todos: ProjectView['todos'] }) {
  if (todos.length === 0)
    return (
      <Empty title="There are no todos yet.">
        <Command line='relay todo add "Write the load test"' about="Add one, in the project folder:" />
      </Empty>
    );
  return (
    <ul class="rows panel">
      {todos.map(({ id, title, status, priority, notes, created, completed_at }) => (
        <li key={id}>
          <div class="agent">
            <p>
              <span class="mono soft">{revealHidden(id)}</span> <ForeignText text={title} max={300} />
            </p>
            {notes !== '' && (
              <p class="soft small break">
                <ForeignText text={notes} max={1_000} />
              </p>
            )}
            <p class="soft small">
              {priority} priority, {completed_at ? 'done' : 'added'} <Ago at={completed_at ?? created} />
            </p>
          </div>
          <Badge word={status.replaceAll('_', ' ')} />
        </li>
      ))}
    </ul>
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
    <ul class="rows panel">
      {decisions.map(({ id, title, date, status, decision, superseded }) => (
        <li key={id}>
          <div class="agent">
            <p>
              <span class="mono soft">{revealHidden(id)}</span>{' '}
              <strong>
                <ForeignText text={title} max={300} />
              </strong>
            </p>
            <p class="break">
              <ForeignText text={decision} max={4_000} />
            </p>
            {date !== null && <p class="soft small">{revealHidden(date)}</p>}
          </div>
          <Badge word={superseded ? 'superseded' : status.toLowerCase()} />
        </li>
      ))}
    </ul>
  );
}
