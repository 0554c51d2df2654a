import { PageHead } from '../../parts/page-head.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { hasScope } from '../../session/self.ts';
import { KeyList } from './key-list.tsx';
import { Usage } from './usage.tsx';

/** Keys and usage. */
export function Keys() {
  return (
    <>
      <PageHead title="Keys and usage" />
      <Tabs
        label="Keys and usage"
        tabs={[
          ...(hasScope('admin') ? [{ name: 'keys', title: 'Keys', render: () => <KeyList /> }] : []),
          { name: 'usage', title: 'Usage', render: () => <Usage /> },
        ]}
      />
    </>
  );
}
