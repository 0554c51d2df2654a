import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isOwn, makeExecutable, PLATFORMS } from '../../scripts/release/executable.ts';
import { makeDeb } from '../../scripts/release/linux-packages.ts';
import { must, outsideEnv, ROOT, run } from '../package/processes.ts';
import { inRoot, noRoots } from './root.ts';

const skip = noRoots() || noDebian();

function noDebian(): string | false {
  for (const tool of ['debootstrap', 'dpkg-deb', 'systemd-analyze'])
    if (spawnSync('which', [tool]).status !== 0) return `${tool} is not installed`;
  return false;
}

describe('the Debian package, in a Debian without Node', { skip }, () => {
  const parent = mkdtempSync(join(tmpdir(), 'relay-deb-'));
  const root = join(parent, 'root');
  before(async () => {
    process.chdir(ROOT);
    await must('debootstrap', ['--variant=minbase', '--include=libatomic1', 'stable', root], {
      env: outsideEnv(),
    });
    const program = await makeExecutable(PLATFORMS.find(isOwn)!, parent);
    for (const version of ['0.0.1', '0.0.2']) {
      const deb = makeDeb({ version, program, folder: parent, quick: true });
      copyFileSync(deb, join(root, 'srv', `${version}.deb`));
    }
  });
  after(() => rmSync(parent, { recursive: true, force: true }));

  const ok = async (line: string) => {
    const [command, ...args] = inRoot(root, line);
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/srv' };
    const { code, stdout, stderr } = await run(command!, args, { env });
    assert.equal(code, 0, `${line}\n${stdout}\n${stderr}`);
    return stdout;
  };
  /** What systemd would do: the folders, the environment and the user of the unit, and its ExecStart. */
  const unit = () => {
    const text = readFileSync(join(root, 'usr/lib/systemd/system/contextrelay.service'), 'utf8');
    const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)![1]!;
    const folders =
      'install -d -o contextrelay -g contextrelay -m 0700 /var/lib/contextrelay /var/cache/contextrelay';
    const as = (command: string) =>
      `setpriv --reuid=${value('User')} --regid=${value('Group')} --init-groups --no-new-privs env ${value('Environment')} ${command}`;
    return { folders, as, start: value('ExecStart') };
  };

  test('it installs with its user, its settings and a sound unit', async () => {
    await ok('dpkg -i /srv/0.0.1.deb');
    assert.match(await ok('id contextrelay'), /contextrelay/);
    assert.match(await ok('ls -l /etc/contextrelay/relay.env'), /^-rw-r----- 1 root contextrelay/);
    const verified = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', '--recursive-errors=no', `--root=${root}`, 'contextrelay.service'],
      { encoding: 'utf8' },
    );
    assert.deepEqual([verified.status, verified.stderr], [0, '']);
  });

  test('what the unit starts serves as its user, and what was pushed outlives an upgrade', async () => {
    const { folders, as, start } = unit();
    const serving = (work: string) =>
      `${folders} && { ${as(start)} >/tmp/log 2>&1 & server=$!; } && until ${as('relay status --url http://127.0.0.1:7474')} >/dev/null 2>&1; do sleep 0.1; done && ${work} && kill $server && wait`;
    const pushed = await ok(serving(`echo kept | CONTEXTRELAY_URL=http://127.0.0.1:7474 relay push`));
    const url = /http:\S+/.exec(pushed)![0];
    writeFileSync(join(root, 'etc/contextrelay/relay.env'), 'RELAY_LOG=info\n');
    await ok('dpkg --force-confold -i /srv/0.0.2.deb');
    assert.equal((await ok('dpkg -s contextrelay | grep ^Version')).trim(), 'Version: 0.0.2');
    assert.equal(await ok('cat /etc/contextrelay/relay.env'), 'RELAY_LOG=info\n');
    assert.match(await ok(serving(`CONTEXTRELAY_URL=http://127.0.0.1:7474 relay pull ${url}`)), /kept/);
    assert.match(await ok('ls -ld /var/lib/contextrelay'), /^drwx------ \d+ contextrelay contextrelay/);
  });

  test('removed, it leaves the data; purged, nothing', async () => {
    await ok('dpkg -r contextrelay && test ! -e /usr/bin/relay && test -e /var/lib/contextrelay/relay.db');
    await ok('dpkg -P contextrelay && test ! -e /var/lib/contextrelay && ! getent passwd contextrelay');
  });
});
