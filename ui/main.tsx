import { render } from 'preact';
import { App } from './frame/app.tsx';
import { followLinks, segments } from './frame/router.ts';
import { applyTheme } from './frame/theme.ts';
import { followActivity } from './session/live.ts';
import { loadSelf } from './session/self.ts';
import { readShareToken } from './session/session.ts';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/frame.css';
import './style/parts.css';
import './style/viewers.css';
import './style/pages.css';

applyTheme();
// Call this first, so that the token is removed from the address before anything else reads or stores the
// address.
const shared = readShareToken();
followLinks();
// Load the caller and follow the activity, except for visitors with a link: they may see only the linked
// pointer or thread.
if (!shared && segments.peek()[0] !== 'pull') {
  loadSelf();
  followActivity();
}
render(<App />, document.getElementById('app')!);
