import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { compileExecutable } from '../../scripts/build/executable.ts';
import { makeDeb, makeRpm } from '../../scripts/release/linux-packages.ts';
import { must, ROOT, run } from '../package/processes.ts';
import { inRoot, layDebianRoot, missing, noRoots } from './root.ts';

const VERSIONS = ['0.0.1', '0.0.2'] as const;

interface Kind {
  readonly name: string;
  readonly tools: readonly string[];
  readonly make: typeof makeDeb;
  /** Returns the install command. In the test's root file system, the package is at /srv/<version>. */
  readonly install: (version: string) => string;
  readonly version: string;
  readonly remove: string;
}

const KINDS: readonly Kind[] = [
  {
    name: 'the Debian package',
    tools: ['dpkg-deb'],
    make: makeDeb,
    install: (version) => `dpkg --force-confold -i /srv/${version}`,
    version: 'dpkg -s contextrelay | sed -n "s/^Version: //p"',
    remove: 'dpkg -r contextrelay',
  },
  {
    // --nodeps: the dependencies are installed as Debian packages, which RPM's database does not contain.
    name: 'the RPM package',
    tools: ['rpmbuild', 'rpm'],
    make: makeRpm,
    install: (version) => `rpm -U --nodeps /srv/${version}`,
    version: "rpm -q --qf '%{VERSION}' contextrelay",
    remove: 'rpm -e --nodeps contextrelay',
  },
];

for (const kind of KINDS) {
  const skip = noRoots() || missing('debootstrap', 'systemd-analyze', ...kind.tools);
  describe(`${kind.name}, on a Debian without Node`, { skip }, () => {
    const parent = mkdtempSync(join(tmpdir(), 'relay-packages-'));
    const root = join(parent, 'root');
    before(async () => {
      process.chdir(ROOT);
      await layDebianRoot(root);
      const program = join(parent, 'relay');
      compileExecutable(program);
      for (const version of VERSIONS) {
        const packageFile = await kind.make({ version, program, folder: parent, quick: true });
        copyFileSync(packageFile, join(root, 'srv', version));
      }
    });
    after(() => rmSync(parent, { recursive: true, force: true }));

    const ok = async (line: string) => {
      // The Debian in the test's root file system has no rpm, so this machine's rpm installs into that file system.
      const outside = /^rpm (.*)$/.exec(line)?.[1]?.replace('/srv/', `${root}/srv/`);
      if (outside !== undefined) return must('sh', ['-c', `rpm --root "${root}" ${outside}`]);
      const [command, ...args] = inRoot(root, line);
      const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/srv' };
      const { code, stdout, stderr } = await run(command!, args, { env });
      assert.equal(code, 0, `${line}\n${stdout}\n${stderr}`);
      return stdout;
    };
    /** Returns a shell line that starts the unit as systemd would, runs `work`, and stops the server. */
    const serving = (work: string) => {
      const text = readFileSync(join(root, 'usr/lib/systemd/system/contextrelay.service'), 'utf8');
      const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)![1]!;
      const folders =
        'install -d -o contextrelay -g contextrelay -m 0700 /var/lib/contextrelay /var/cache/contextrelay';
      const as = (command: string) =>
        `setpriv --reuid=${value('User')} --regid=${value('Group')} --init-groups --no-new-privs env ${value('Environment')} ${command}`;
      return `${folders} && { ${as(value('ExecStart'))} >/tmp/log 2>&1 & server=$!; } && until ${as('relay status --url http://127.0.0.1:7474')} >/dev/null 2>&1; do sleep 0.1; done && ${work} && kill $server && wait`;
    };

    test('it installs with its user, its settings and a valid unit', async () => {
      await ok(kind.install(VERSIONS[0]));
      assert.match(await ok('id contextrelay'), /contextrelay/);
      assert.match(await ok('zcat /usr/share/man/man1/relay-push.1.gz'), /relay\\-push/);
      const shells = 'bash-completion/completions/relay zsh/*/_relay fish/vendor_completions.d/relay.fish';
      for (const path of shells.split(' ')) assert.match(await ok(`cat /usr/share/${path}`), /relay/, path);
      assert.match(await ok('ls -l /etc/contextrelay/relay.env'), /^-rw-r----- 1 root contextrelay/);
      const verified = spawnSync(
        'systemd-analyze',
        ['verify', '--man=no', '--recursive-errors=no', `--root=${root}`, 'contextrelay.service'],
        { encoding: 'utf8' },
      );
      assert.deepEqual([verified.status, verified.stderr], [0, '']);
    });

    test("the unit's server runs as its user, and pushed data survives an upgrade", async () => {
      const pushed = await ok(serving('echo kept | CONTEXTRELAY_URL=http://127.0.0.1:7474 relay push'));
      const url = /http:\S+/.exec(pushed)![0];
      writeFileSync(join(root, 'etc/contextrelay/relay.env'), 'RELAY_LOG=info\n');
      await ok(kind.install(VERSIONS[1]));
      assert.equal((await ok(kind.version)).trim(), VERSIONS[1]);
      assert.equal(await ok('cat /etc/contextrelay/relay.env'), 'RELAY_LOG=info\n');
      assert.match(await ok(serving(`CONTEXTRELAY_URL=http://127.0.0.1:7474 relay pull ${url}`)), /kept/);
      assert.match(await ok('ls -ld /var/lib/contextrelay'), /^drwx------ \d+ contextrelay contextrelay/);
    });

    test('removing it keeps the data', async () => {
      await ok(kind.remove);
      await ok('test ! -e /usr/bin/relay && test -e /var/lib/contextrelay/relay.db');
    });

    if (kind.make === makeDeb) {
      test('purging it leaves nothing', async () => {
        await ok('dpkg -P contextrelay && test ! -e /var/lib/contextrelay && ! getent passwd contextrelay');
      });
    }
  });
}
