import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { compileExecutable } from '../../scripts/build/executable.ts';
import { must, outsideEnv, ROOT, run } from '../package/processes.ts';
import { inRoot, layDebianRoot, missing, noRoots } from './root.ts';

const skip = noRoots() || missing('debootstrap', 'buildah');

interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Cmd: readonly string[];
  readonly Healthcheck: { readonly Test: readonly string[] };
  readonly Volumes: Record<string, object>;
}

/** debootstrap makes the base image, tagged with the name that the recipe uses. So no image registry is needed. */
describe('the container recipe, built by buildah', { skip }, () => {
  const parent = mkdtempSync(join(tmpdir(), 'relay-container-'));
  const store = [
    '--root',
    join(parent, 'images'),
    '--runroot',
    join(parent, 'run'),
    '--storage-driver',
    'vfs',
  ];
  const buildah = async (...args: string[]) =>
    (await must('buildah', [...store, ...args], { env: outsideEnv() })).trim();
  let image: string;
  let config: ImageConfig;
  before(async () => {
    process.chdir(ROOT);
    const [base, context] = [join(parent, 'base'), join(parent, 'context')];
    await layDebianRoot(base);
    mkdirSync(context);
    copyFileSync('deploy/container/Containerfile', join(context, 'Containerfile'));
    compileExecutable(join(context, 'relay'));
    const empty = await buildah('from', 'scratch');
    await buildah('copy', '--quiet', empty, base, '/');
    await buildah('commit', '--quiet', empty, 'docker.io/library/debian:stable-slim');
    const build = [
      'bud',
      '--isolation',
      'chroot',
      '--pull-never',
      '--format',
      'docker',
      '--tag',
      'contextrelay',
    ];
    await buildah(...build, '--file', join(context, 'Containerfile'), context);
    const inspected = JSON.parse(await buildah('inspect', '--type', 'image', 'contextrelay'));
    config = inspected.Docker.config;
    image = await buildah('mount', await buildah('from', '--pull-never', 'contextrelay'));
  });
  after(async () => {
    await buildah('umount', '--all');
    rmSync(parent, { recursive: true, force: true });
  });

  test('the container serves as its user on a read-only root, writes only to its volume, is healthy and stops on request', async () => {
    assert.deepEqual([config.User, Object.keys(config.Volumes)], ['10001', ['/data']]);
    const [kind, ...health] = config.Healthcheck.Test;
    assert.equal(kind, 'CMD');
    const work = `
      { ${config.Cmd.join(' ')} >/tmp/log 2>&1 & server=$!; }
      until ${health.join(' ')} >/dev/null 2>&1; do kill -0 $server || { cat /tmp/log; exit 1; }; sleep 0.1; done
      key=$(relay keys create someone | grep -o 'cr_live_[[:alnum:]_-]*') || exit 1
      export CONTEXTRELAY_URL=http://127.0.0.1:7474
      echo refused | relay push && exit 1
      export CONTEXTRELAY_API_KEY=$key
      url=$(echo kept | relay push) && relay pull "$url" && ! touch /anywhere && ls /data && kill $server && wait $server`;
    const as = `setpriv --reuid=${config.User} --regid=${config.User} --clear-groups --no-new-privs --bounding-set=-all`;
    const line = `exec ${as} env -i ${config.Env.join(' ')} sh -c '${work.replaceAll("'", `'\\''`)}'`;
    // Do what a container engine does: mount a read-only root, a volume with the image's owner, and a /tmp.
    const [command, ...args] = inRoot(image, line, [
      'mkdir "$0.data" && cp -a "$0/data/." "$0.data/" && chown --reference="$0/data" "$0.data" && chmod 0700 "$0.data"',
      'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"',
      'mount --bind "$0.data" "$0/data" && mount -t tmpfs tmpfs "$0/tmp"',
    ]);
    const { code, stdout, stderr } = await run(command!, args, { env: outsideEnv() });
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    assert.match(stdout, /^kept\n/m);
    assert.match(stdout, /^relay\.db$/m);
    assert.match(stderr, /\/anywhere.*Read-only file system/);
  });
});
