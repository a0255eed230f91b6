import { Page } from '../../ui/page.tsx';

export const ProjectAccessPage = () => <Page title="Access">{null}</Page>;
