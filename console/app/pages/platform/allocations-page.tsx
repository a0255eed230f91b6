import { Page } from '../../ui/page.tsx';

export const PlatformAllocationsPage = () => <Page title="Allocations">{null}</Page>;
