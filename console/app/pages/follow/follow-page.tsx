import { Page } from '../../ui/page.tsx';

export const ProjectFollowPage = () => <Page title="Follow an id">{null}</Page>;
export const PlatformFollowPage = () => <Page title="Follow an id">{null}</Page>;
