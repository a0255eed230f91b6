import { Page } from '../../ui/page.tsx';

export const AllocationsPage = () => <Page title="Allocations">{null}</Page>;
