import { Page } from '../../ui/page.tsx';

export const CapacityPage = () => <Page title="Capacity">{null}</Page>;
