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
// Only for visitors without a link: load the caller and follow the activity. A visitor with a link to a
// pointer or a thread may see only this object.
if (!shared && segments.peek()[0] !== 'pull') {
  loadSelf();
  followActivity();
}
render(<App />, document.getElementById('app')!);
