-- The workflow is named for what it does. Runs that are under way continue under the new name.
update workflow_runs set workflow = 'wipe-disk' where workflow = 'own-disk';
