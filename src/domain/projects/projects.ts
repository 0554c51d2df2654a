import { RelayError } from '../../base/errors.ts';
import { reaches } from '../../contract/authorize.ts';
import { type Caller, RELAY_TENANT } from '../../contract/caller.ts';
import type { ProjectItem, ProjectView, projects } from '../../contract/projects.ts';
import type { Serves } from '../relay-binding.ts';

/** Source from which projects are read. */
export interface ProjectSource {
  list(): Promise<readonly ProjectItem[]>;
  /** Returns a project by its id. Returns null if the id is unknown. */
  get(id: string): Promise<ProjectView | null>;
}

/**
 * Project folders on the relay's machine. Only callers of the relay's own tenant without a channel prefix see
 * them.
 */
export class Projects implements Serves<typeof projects> {
  readonly #source: ProjectSource | null;

  constructor(source: ProjectSource | null) {
    this.#source = source;
  }

  async list(caller: Caller): Promise<{ projects: readonly ProjectItem[] }> {
    return { projects: (await this.#of(caller)?.list()) ?? [] };
  }

  async get(caller: Caller, id: string): Promise<ProjectView> {
    const found = await this.#of(caller)?.get(id);
    if (found) return found;
    throw new RelayError('not_found', {
      what: 'this project',
      hint: 'A server shows only the folders that it was started with: relay up --project DIR',
    });
  }

  #of(caller: Caller): ProjectSource | null {
    return caller.tenant === RELAY_TENANT && reaches(caller, {}) ? this.#source : null;
  }
}
