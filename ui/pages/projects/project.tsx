import type { ProjectView } from '../../../src/contract/projects.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { CopyButton } from '../../parts/copying.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Said, SaidJson } from '../../parts/said.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { useAsked } from '../../session/asking.ts';
import { useEvery } from '../../session/live.ts';
import { visible } from '../../viewers/visible.ts';

const LOOK_EVERY_MS = 5_000;

/** Where a project stands, from its files. */
export function ProjectPage({ id }: { id: string }) {
  const project = useAsked((relay) => relay.projects.get(id), [id]);
  useEvery(LOOK_EVERY_MS, project.again);
  const { value } = project;
  return (
    <>
      <PageHead title={value?.name ?? 'Project'} above={{ title: 'Projects', href: to('projects') }}>
        {value?.description && <Said text={value.description} max={300} />}
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
          <Said text={what} max={500} />
        </p>
      ))}
      <Tabs
        label="Views of the project"
        tabs={[
          {
            name: 'todos',
            title: 'Todos',
            count: project.todos.length,
            render: () => <Items items={project.todos} none="There are no todos." />,
          },
          {
            name: 'decisions',
            title: 'Decisions',
            count: project.decisions.length,
            render: () => <Items items={project.decisions} none="Nothing was decided yet." />,
          },
          {
            name: 'brief',
            title: 'Brief',
            render: () => (
              <section class="message" aria-label="The brief for a new session">
                <header>
                  <h3>What a new session is told</h3>
                  <CopyButton text={project.brief} what="brief" />
                </header>
                <pre class="break" tabIndex={0}>
                  {visible(project.brief)}
                </pre>
              </section>
            ),
          },
        ]}
      />
    </>
  );
}

type Fields = { readonly [name: string]: unknown };

function Items({ items, none }: { items: readonly object[]; none: string }) {
  if (items.length === 0) return <Empty title={none} />;
  return (
    <ul class="rows panel">
      {items.map((item, at) => {
        const { id, title, status, ...rest } = item as Fields;
        return (
          <li key={typeof id === 'string' ? id : at}>
            <div class="agent">
              <p>
                {id !== undefined && <span class="mono soft">{String(id)} </span>}
                <strong>
                  <Said text={String(title ?? rest.text ?? rest.decision ?? '')} max={300} />
                </strong>
              </p>
              <p class="soft small break">
                {Object.entries(rest)
                  .filter(
                    ([name, value]) => value !== null && value !== '' && !['text', 'decision'].includes(name),
                  )
                  .map(([name, value]) => (
                    <span key={name} class="pair">
                      {name.replaceAll('_', ' ')}: <SaidJson value={value} max={400} />
                    </span>
                  ))}
              </p>
            </div>
            {typeof status === 'string' && <Badge word={status} />}
          </li>
        );
      })}
    </ul>
  );
}
