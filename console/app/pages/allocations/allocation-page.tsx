import { Page } from '../../ui/page.tsx';

export const AllocationPage = () => <Page title="Allocation">{null}</Page>;
