import { to } from '../../frame/router.ts';
import { Command } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { When } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { ProjectPage } from './project.tsx';

/** Poll interval in ms. Polling is needed because files change without an event. */
const POLL_MS = 5_000;

export function Projects({ parts: [id] }: { parts: readonly string[] }) {
  return id === undefined ? <ProjectList /> : <ProjectPage id={id} key={id} />;
}

function ProjectList() {
  const projects = useAsked((relay) => relay.projects.list(), [], { every: POLL_MS });
  return (
    <>
      <PageHead title="Projects" />
      <Answer of={projects}>
        {({ projects: list }) =>
          list.length === 0 ? (
            <Empty title="No projects yet.">
              <p>
                This page shows the todos, decisions and brief of each project folder that the relay was
                started with.
              </p>
              <Command line="relay project init" about="Set up a project, in its folder:" />
              <Command line="relay up --project ." about="Start the relay with it:" />
            </Empty>
          ) : (
            <ul class="cards">
              {list.map((project) => (
                <li key={project.id} class="panel">
                  <h2>
                    <a href={to('projects', project.id)}>
                      <ForeignText text={project.name} max={100} />
                    </a>
                  </h2>
                  {project.description && (
                    <ForeignText as="p" class="soft" text={project.description} max={300} />
                  )}
                  <p class="page-facts">
                    <span>
                      <strong>{project.todos.open}</strong> open
                    </span>
                    <span>{project.todos.done} done</span>
                    {project.todos.blocked > 0 && (
                      <span class="warn-text">{project.todos.blocked} blocked</span>
                    )}
                    <span>{project.decisions} decisions</span>
                    <When verb="changed" at={project.modified_at} />
                  </p>
                  {project.broken.length > 0 && (
                    <p class="warning">{project.broken.length} of its files cannot be read</p>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </>
  );
}
