-- How a node ends, and what its agent knows of the keys of its channel.

-- The bundle that the agent had when it last asked; null until an agent has said it.
alter table node_agents add column trust_version text;

-- The name of a node that was deleted is free for another; its history stays under its id.
alter table nodes drop constraint nodes_name_key;
create unique index nodes_live_name on nodes (name) where state <> 'deleted';
