import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { missingTools, TOOLS } from './tools.ts';

const run = promisify(execFile);
const skip = missingTools;

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'relay-charts-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly stringData?: { readonly [key: string]: string };
  readonly spec: Deployment & Monitor;
}

interface Deployment {
  readonly template: {
    readonly spec: {
      readonly containers: {
        readonly env: { name: string; value?: string; valueFrom?: object }[];
        readonly [probe: string]: unknown;
      }[];
    };
  };
}

interface Monitor {
  readonly endpoints: { path: string; port: string; authorization: object }[];
}

/** Renders the chart without its dependency, the NATS chart, which would have to be downloaded. */
async function render(...values: string[]): Promise<Resource[]> {
  const chart = join(folder, 'contextrelay');
  cpSync('deploy/nats/helm/contextrelay', chart, { recursive: true });
  const { dependencies: _, ...ownChart } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
  writeFileSync(join(chart, 'Chart.yaml'), stringify(ownChart));
  const { stdout } = await run(TOOLS.helm, ['template', 'r', chart, ...values.flatMap((v) => ['--set', v])]);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
}

/** Checks resources against the schemas of Kubernetes, except ServiceMonitor, which an operator defines. */
async function validate(resources: readonly Resource[]): Promise<void> {
  const file = join(folder, 'resources.yaml');
  const ownResources = resources.filter(({ kind }) => kind !== 'ServiceMonitor');
  writeFileSync(file, ownResources.map((one) => stringify(one)).join('---\n'));
  const env = { ...process.env, PYTHONPATH: TOOLS.python };
  await run('python3', ['-m', 'kubernetes_validate', '--strict', file], { env });
}

test('the chart uses a login and TLS at the cluster by default, and its probes fit the routes', {
  skip,
}, async () => {
  const resources = await render();
  await validate(resources);
  const secret = resources.find(({ kind }) => kind === 'Secret')!;
  assert.match(secret.stringData!.engine!, /^tls:\/\/relay:\w{32}@r-nats:4222$/);
  const [relay] = resources.find(({ kind }) => kind === 'Deployment')!.spec.template.spec.containers;
  const env = Object.fromEntries(relay!.env.map(({ name, ...value }) => [name, value]));
  assert.deepEqual(env.RELAY_ENGINE, {
    valueFrom: { secretKeyRef: { name: secret.metadata.name, key: 'engine' } },
  });
  assert.ok(env.NODE_EXTRA_CA_CERTS);
  const path = (probe: string) => (relay![probe] as { httpGet: { path: string } }).httpGet.path;
  assert.deepEqual(['startupProbe', 'readinessProbe', 'livenessProbe'].map(path), [
    '/health',
    '/ready',
    '/health',
  ]);
  assert.ok(resources.some(({ kind }) => kind === 'PodDisruptionBudget'));
});

test('the chart supports another cluster, a ServiceMonitor and an ingress', { skip }, async () => {
  const resources = await render(
    ...['engineSecret=own', 'natsTls.enabled=false', 'serviceMonitor.enabled=true'],
    ...['ingress.enabled=true', 'ingress.tlsSecret=tls', 'podDisruptionBudget.enabled=false'],
  );
  await validate(resources);
  const kinds = resources.map(({ kind }) => kind).sort();
  assert.deepEqual(kinds, ['Deployment', 'Ingress', 'Service', 'ServiceMonitor']);
  const monitor = resources.find(({ kind }) => kind === 'ServiceMonitor')!;
  const [endpoint] = monitor.spec.endpoints;
  assert.deepEqual([endpoint!.path, endpoint!.port], ['/metrics', 'http']);
  assert.ok(endpoint!.authorization);
});

test('the compose files match the compose schema', { skip }, async () => {
  const script = `import json, sys, yaml, jsonschema
schema = json.load(open(sys.argv[1]))
for name in sys.argv[2:]:
    jsonschema.validate(yaml.safe_load(open(name)), schema)`;
  const files = ['deploy/nats/compose.yaml', 'deploy/container/compose.yaml'];
  const env = { ...process.env, PYTHONPATH: TOOLS.python };
  await run('python3', ['-c', script, TOOLS.composeSchema, ...files], { env });
});
