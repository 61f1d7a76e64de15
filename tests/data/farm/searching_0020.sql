-- A farm's tables in the midst of a search of r1 to r11, as the release with several branches left them.
-- On SQLite, made by the tests' fakes of that release.
BEGIN TRANSACTION;
CREATE TABLE bench_ab_test (
	id INTEGER NOT NULL, 
	series TEXT NOT NULL, 
	iterations INTEGER NOT NULL, 
	confidence DOUBLE NOT NULL, 
	min_effect DOUBLE NOT NULL, 
	requester TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	detail TEXT, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	version INTEGER NOT NULL, 
	decided_by TEXT, 
	resumed_at DOUBLE, 
	PRIMARY KEY (id)
);
CREATE TABLE bench_ab_test_variant (
	id INTEGER NOT NULL, 
	ab_test_id INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	image_id INTEGER NOT NULL, 
	tunables TEXT NOT NULL, 
	variant TEXT NOT NULL, 
	label TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_ab_test_variant_ab_test_id_fk FOREIGN KEY(ab_test_id) REFERENCES bench_ab_test (id), 
	CONSTRAINT bench_ab_test_variant_image_id_fk FOREIGN KEY(image_id) REFERENCES bench_image (id), 
	CONSTRAINT bench_ab_test_variant_ab_test_id_ordinal_key UNIQUE (ab_test_id, ordinal)
);
CREATE TABLE bench_alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT bench_alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "bench_alembic_version" VALUES('0020');
CREATE TABLE bench_artefact (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	size BIGINT NOT NULL, 
	stored_at DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_artefact_digest_key UNIQUE (digest)
);
CREATE TABLE bench_branch (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	trunk TEXT, 
	fork_position INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_branch_name_key UNIQUE (name)
);
INSERT INTO "bench_branch" VALUES(1,'main',NULL,0);
CREATE TABLE bench_capture (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	counter TEXT NOT NULL, 
	taken_at DOUBLE NOT NULL, 
	body BLOB NOT NULL, packets INTEGER DEFAULT '0' NOT NULL, places BLOB, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_capture_digest_key UNIQUE (digest)
);
CREATE TABLE bench_commit (
	id INTEGER NOT NULL, 
	branch TEXT NOT NULL, 
	sha VARCHAR(40) NOT NULL, 
	position INTEGER NOT NULL, 
	parent_sha VARCHAR(40), 
	svn INTEGER, 
	subject TEXT NOT NULL, 
	author TEXT NOT NULL, 
	committed_at_s BIGINT NOT NULL, 
	important BOOLEAN NOT NULL, 
	arrived_at DOUBLE NOT NULL, no_op_of TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_commit_branch_position_key UNIQUE (branch, position), 
	CONSTRAINT bench_commit_branch_sha_key UNIQUE (branch, sha)
);
INSERT INTO "bench_commit" VALUES(1,'main','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,NULL,1,'Change 1','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(2,'main','895d1022dd947a50788ac6c43cf1e6beede10a6c',2,'8adaae8af45f4ee924b98015ab10635bcc635a1c',2,'Change 2','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(3,'main','107f776f8cdb7ef476cbe0e94d63e3554a926333',3,'895d1022dd947a50788ac6c43cf1e6beede10a6c',3,'Change 3','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(4,'main','b873d9370de3ae22035cf70d6087bd7b581bc89a',4,'107f776f8cdb7ef476cbe0e94d63e3554a926333',4,'Change 4','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(5,'main','9237b6a7c65f29b33ef4cc80bc61865fba7f3126',5,'b873d9370de3ae22035cf70d6087bd7b581bc89a',5,'Change 5','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(6,'main','d90a7a665d8b0f5f8232177565498294b2bbe940',6,'9237b6a7c65f29b33ef4cc80bc61865fba7f3126',6,'Change 6','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(7,'main','ea5554a5e25aeba1f34c6fc7b66b453d32d88e29',7,'d90a7a665d8b0f5f8232177565498294b2bbe940',7,'Change 7','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(8,'main','1c240c60245fda4a397042279a8da43eded0c975',8,'ea5554a5e25aeba1f34c6fc7b66b453d32d88e29',8,'Change 8','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(9,'main','e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',9,'1c240c60245fda4a397042279a8da43eded0c975',9,'Change 9','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(10,'main','8629b7060ca6e4e1ac55e897bb826a606bdc5f68',10,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',10,'Change 10','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(11,'main','1b57b1ec435bba3853436258d7f46ece8067db04',11,'8629b7060ca6e4e1ac55e897bb826a606bdc5f68',11,'Change 11','',0,1,0.0,NULL);
CREATE TABLE bench_image (
	id INTEGER NOT NULL, 
	sha VARCHAR(40) NOT NULL, 
	variant TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	attempt INTEGER NOT NULL, 
	brid INTEGER, 
	reason TEXT, 
	digest TEXT, 
	size BIGINT, 
	path TEXT, 
	build_s DOUBLE, 
	created_at DOUBLE NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	version INTEGER NOT NULL, kernel_digest TEXT, manifest TEXT, read_files VARCHAR(64), built_by VARCHAR(64), branch TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_image_variant_ordinal_key UNIQUE (variant, ordinal)
);
INSERT INTO "bench_image" VALUES(1,'8adaae8af45f4ee924b98015ab10635bcc635a1c','8adaae8af45f4ee924b98015ab10635bcc635a1c',0,1,'r1','built',0,NULL,NULL,'1-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800000000.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(2,'1b57b1ec435bba3853436258d7f46ece8067db04','1b57b1ec435bba3853436258d7f46ece8067db04',0,11,'r11','built',0,NULL,NULL,'b-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000001.0,1800000001.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(3,'d90a7a665d8b0f5f8232177565498294b2bbe940','d90a7a665d8b0f5f8232177565498294b2bbe940',0,6,'r6','built',0,NULL,NULL,'6-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000002.0,1800000002.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(4,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c','e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',0,9,'r9','built',0,NULL,NULL,'9-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000003.0,1800000003.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(5,'ea5554a5e25aeba1f34c6fc7b66b453d32d88e29','ea5554a5e25aeba1f34c6fc7b66b453d32d88e29',0,7,'r7','built',0,NULL,NULL,'7-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000004.0,1800000004.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(6,'107f776f8cdb7ef476cbe0e94d63e3554a926333','107f776f8cdb7ef476cbe0e94d63e3554a926333',0,3,'r3','dropped',0,NULL,NULL,NULL,NULL,NULL,NULL,1800000005.0,1800000006.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(7,'d90a7a665d8b0f5f8232177565498294b2bbe940','d90a7a665d8b0f5f8232177565498294b2bbe940',1,6,'r6','wanted',0,NULL,NULL,NULL,NULL,NULL,NULL,1800000006.0,1800000006.0,0,NULL,NULL,NULL,NULL,'main');
CREATE TABLE bench_incident_series (
	id INTEGER NOT NULL, 
	search_id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	old_sha VARCHAR(40) NOT NULL, 
	old_position INTEGER NOT NULL, 
	new_sha VARCHAR(40) NOT NULL, 
	new_position INTEGER NOT NULL, 
	claimed DOUBLE NOT NULL, 
	judgement_id INTEGER, 
	standing VARCHAR(24) NOT NULL, 
	effect DOUBLE, 
	low DOUBLE, 
	high DOUBLE, 
	reason TEXT NOT NULL, 
	own_search_id INTEGER, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_incident_series_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_incident_series_judgement_id_fk FOREIGN KEY(judgement_id) REFERENCES bench_judgement (id), 
	CONSTRAINT bench_incident_series_own_search_id_fk FOREIGN KEY(own_search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_incident_series_search_id_testbed_workload_key UNIQUE (search_id, testbed, workload)
);
CREATE TABLE bench_iteration (
	id INTEGER NOT NULL, 
	probe_id INTEGER NOT NULL, 
	image_id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	epoch TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	unit TEXT NOT NULL, 
	is_primary BOOLEAN NOT NULL, 
	value DOUBLE, 
	failure TEXT, 
	at_s DOUBLE NOT NULL, 
	duration_s DOUBLE NOT NULL, 
	facts TEXT NOT NULL, 
	log TEXT NOT NULL, tunables TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_iteration_probe_id_ordinal_unit_key UNIQUE (probe_id, ordinal, unit), 
	CONSTRAINT bench_iteration_probe_id_fk FOREIGN KEY(probe_id) REFERENCES bench_probe (id), 
	CONSTRAINT bench_iteration_image_id_fk FOREIGN KEY(image_id) REFERENCES bench_image (id)
);
INSERT INTO "bench_iteration" VALUES(1,1,1,'apu','forwarding','',0,'pps',1,1.0051527390126218088e+06,NULL,1800000001.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(2,2,2,'apu','forwarding','',0,'pps',1,8.07482133555762935425e+05,NULL,1800000002.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(3,3,3,'apu','forwarding','',0,'pps',1,1.00037883215314929842e+06,NULL,1800000003.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(4,4,4,'apu','forwarding','',0,'pps',1,8.00130739023337839155e+05,NULL,1800000004.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(5,5,5,'apu','forwarding','',0,'pps',1,7.96227706396061810653e+05,NULL,1800000005.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(6,6,3,'apu','forwarding','',0,'pps',1,1.00199870237254316449e+06,NULL,1800000006.0,2.0,'{}','','');
CREATE TABLE bench_judgement (
	id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	old_sha VARCHAR(40) NOT NULL, 
	old_position INTEGER NOT NULL, 
	new_sha VARCHAR(40) NOT NULL, 
	new_position INTEGER NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	effect DOUBLE, 
	low DOUBLE, 
	high DOUBLE, 
	p_value DOUBLE, 
	probability DOUBLE, 
	rounds INTEGER NOT NULL, 
	verdict TEXT, 
	created_at DOUBLE NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	search_id INTEGER, 
	version INTEGER NOT NULL, branch TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_judgement_testbed_workload_new_sha_old_sha_key UNIQUE (testbed, workload, new_sha, old_sha), 
	CONSTRAINT bench_judgement_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id)
);
CREATE TABLE bench_mark (
	id INTEGER NOT NULL, 
	search_id INTEGER, 
	judgement_id INTEGER, 
	kind VARCHAR(24) NOT NULL, 
	fixed_sha VARCHAR(40), 
	fixed_label TEXT, 
	author TEXT NOT NULL, 
	at_s DOUBLE NOT NULL, 
	pending BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_mark_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_mark_judgement_id_fk FOREIGN KEY(judgement_id) REFERENCES bench_judgement (id)
);
CREATE TABLE bench_notice (
	id INTEGER NOT NULL, 
	search_id INTEGER NOT NULL, 
	kind VARCHAR(24) NOT NULL, 
	target TEXT NOT NULL, 
	body TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	attempts INTEGER NOT NULL, 
	last_error TEXT, 
	next_try_at DOUBLE NOT NULL, 
	created_at DOUBLE NOT NULL, 
	sent_at DOUBLE, 
	version INTEGER NOT NULL, denials INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_notice_search_id_kind_target_key UNIQUE (search_id, kind, target), 
	CONSTRAINT bench_notice_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id)
);
CREATE TABLE bench_patch (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	origin TEXT NOT NULL, 
	requester TEXT NOT NULL, 
	fetched_at DOUBLE NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_patch_digest_key UNIQUE (digest)
);
CREATE TABLE bench_probe (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	token TEXT NOT NULL, 
	image_id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	epoch TEXT NOT NULL, 
	iterations INTEGER NOT NULL, 
	priority INTEGER NOT NULL, 
	reason VARCHAR(24) NOT NULL, 
	search_id INTEGER, 
	state VARCHAR(24) NOT NULL, 
	attempt INTEGER NOT NULL, 
	brid INTEGER, 
	failure TEXT, 
	failure_kind TEXT, 
	created_at DOUBLE NOT NULL, 
	issued_at DOUBLE, 
	ended_at DOUBLE, 
	judged BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, tunables TEXT DEFAULT '' NOT NULL, ab_test_id INTEGER CONSTRAINT bench_probe_trial_id_fk REFERENCES "bench_ab_test" (id), serial INTEGER DEFAULT '0' NOT NULL, round INTEGER DEFAULT '0' NOT NULL, judgement_id INTEGER CONSTRAINT bench_probe_judgement_id_fk REFERENCES bench_judgement (id), 
	PRIMARY KEY (id), 
	CONSTRAINT bench_probe_key_key UNIQUE ("key"), 
	CONSTRAINT bench_probe_image_id_fk FOREIGN KEY(image_id) REFERENCES bench_image (id), 
	CONSTRAINT bench_probe_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id)
);
INSERT INTO "bench_probe" VALUES(1,'search:1:0:0:apu:forwarding:1:1:0','550a45f1a6ab4928894c6ba16dcf25e9',1,'apu','forwarding','',1,20,'search',1,'done',0,NULL,NULL,NULL,1800000000.0,NULL,1800000001.0,0,1,'',NULL,1,0,NULL);
INSERT INTO "bench_probe" VALUES(2,'search:1:0:0:apu:forwarding:2:2:0','553efdb1ec78417fa86f4c35446abcba',2,'apu','forwarding','',1,20,'search',1,'done',0,NULL,NULL,NULL,1800000001.0,NULL,1800000002.0,0,1,'',NULL,2,0,NULL);
INSERT INTO "bench_probe" VALUES(3,'search:1:0:0:apu:forwarding:3:3:0','38d5adcad57e45a19ab431894f8d37e1',3,'apu','forwarding','',1,20,'search',1,'done',0,NULL,NULL,NULL,1800000002.0,NULL,1800000003.0,0,1,'',NULL,3,0,NULL);
INSERT INTO "bench_probe" VALUES(4,'search:1:0:0:apu:forwarding:4:4:0','e49ea222b46349d0a27e71e283f0a6e3',4,'apu','forwarding','',1,20,'search',1,'done',0,NULL,NULL,NULL,1800000003.0,NULL,1800000004.0,0,1,'',NULL,4,0,NULL);
INSERT INTO "bench_probe" VALUES(5,'search:1:0:0:apu:forwarding:5:5:0','a2fe813ac4be4c84afcfb2cba91eaa9a',5,'apu','forwarding','',1,20,'search',1,'done',0,NULL,NULL,NULL,1800000004.0,NULL,1800000005.0,0,1,'',NULL,5,0,NULL);
INSERT INTO "bench_probe" VALUES(6,'search:1:0:0:apu:forwarding:3:6:0','21a94e5d7ac14f8cadce8a7bc364d4d0',3,'apu','forwarding','',1,20,'search',1,'done',0,NULL,NULL,NULL,1800000005.0,NULL,1800000006.0,0,1,'',NULL,6,0,NULL);
INSERT INTO "bench_probe" VALUES(7,'search:1:0:0:apu:forwarding:7:7:0','cb2b672d676c47b9966a5f894c132dc8',7,'apu','forwarding','',1,20,'search',1,'new',0,NULL,NULL,NULL,1800000006.0,NULL,NULL,0,0,'',NULL,7,0,NULL);
CREATE TABLE bench_profile (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	token TEXT NOT NULL, 
	image_id INTEGER NOT NULL, 
	search_id INTEGER, 
	ab_test_id INTEGER, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	tunables TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	attempt INTEGER NOT NULL, 
	brid INTEGER, 
	failure TEXT, 
	digest VARCHAR(64), 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_profile_key_key UNIQUE ("key"), 
	CONSTRAINT bench_profile_image_id_fk FOREIGN KEY(image_id) REFERENCES bench_image (id), 
	CONSTRAINT bench_profile_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_profile_trial_id_fk FOREIGN KEY(ab_test_id) REFERENCES "bench_ab_test" (id)
);
CREATE TABLE bench_quarantine (
	id INTEGER NOT NULL, 
	probe_id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	epoch TEXT NOT NULL, 
	since_s DOUBLE NOT NULL, 
	shift DOUBLE, 
	reason TEXT NOT NULL, 
	begun_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	ended_by TEXT, 
	trusted BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_quarantine_probe_id_key UNIQUE (probe_id), 
	CONSTRAINT bench_quarantine_probe_id_fk FOREIGN KEY(probe_id) REFERENCES bench_probe (id)
);
CREATE TABLE bench_read_files (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_read_files_digest_key UNIQUE (digest)
);
CREATE TABLE "bench_report" (
	id INTEGER NOT NULL, 
	search_id INTEGER, 
	state VARCHAR(24) NOT NULL, 
	message_id TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	recipients TEXT NOT NULL, 
	message BLOB NOT NULL, 
	attempts INTEGER NOT NULL, 
	last_error TEXT, 
	next_try_at DOUBLE NOT NULL, 
	created_at DOUBLE NOT NULL, 
	sent_at DOUBLE, 
	version INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_report_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_report_search_id_key UNIQUE (search_id), 
	CONSTRAINT bench_report_key_key UNIQUE ("key")
);
CREATE TABLE bench_search (
	id INTEGER NOT NULL, 
	"key" TEXT, 
	branch TEXT NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	old_sha VARCHAR(40) NOT NULL, 
	old_position INTEGER NOT NULL, 
	new_sha VARCHAR(40) NOT NULL, 
	new_position INTEGER NOT NULL, 
	claimed DOUBLE, 
	min_effect DOUBLE NOT NULL, 
	error DOUBLE NOT NULL, 
	reason VARCHAR(24) NOT NULL, 
	requester TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	answer TEXT, 
	forecast TEXT, 
	detail TEXT, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	version INTEGER NOT NULL, fix_sha VARCHAR(40), fix_patch VARCHAR(64), kind VARCHAR(24) DEFAULT 'effect' NOT NULL, breakage TEXT, recovery TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_search_key_key UNIQUE ("key")
);
INSERT INTO "bench_search" VALUES(1,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','running',NULL,NULL,NULL,1800000000.0,NULL,0,NULL,NULL,'effect',NULL,NULL);
CREATE INDEX bench_commit_svn ON bench_commit (svn);
CREATE INDEX bench_image_position ON bench_image (position);
CREATE INDEX bench_image_state ON bench_image (state);
CREATE INDEX bench_search_state ON bench_search (state);
CREATE INDEX bench_search_testbed_workload ON bench_search (testbed, workload);
CREATE INDEX bench_probe_token ON bench_probe (token);
CREATE INDEX bench_probe_state_judged ON bench_probe (state, judged);
CREATE INDEX bench_probe_search_id ON bench_probe (search_id);
CREATE INDEX bench_probe_image_id_testbed_workload ON bench_probe (image_id, testbed, workload);
CREATE INDEX bench_notice_state_next_try_at ON bench_notice (state, next_try_at);
CREATE INDEX bench_quarantine_testbed_since_s ON bench_quarantine (testbed, since_s);
CREATE INDEX bench_probe_testbed_reason ON bench_probe (testbed, reason);
CREATE INDEX bench_report_state_next_try_at ON bench_report (state, next_try_at);
CREATE INDEX bench_profile_state ON bench_profile (state);
CREATE INDEX bench_profile_search_id ON bench_profile (search_id);
CREATE INDEX bench_iteration_series ON bench_iteration (testbed, workload, tunables, image_id, epoch, unit, is_primary, value, at_s, probe_id);
CREATE INDEX bench_probe_ab_test_id ON bench_probe (ab_test_id);
CREATE INDEX bench_profile_ab_test_id ON bench_profile (ab_test_id);
CREATE INDEX bench_mark_search_id ON bench_mark (search_id);
CREATE INDEX bench_mark_judgement_id ON bench_mark (judgement_id);
CREATE INDEX bench_mark_pending ON bench_mark (pending);
CREATE INDEX bench_judgement_state ON bench_judgement (state);
CREATE INDEX bench_judgement_new_sha ON bench_judgement (new_sha);
CREATE INDEX bench_incident_series_standing ON bench_incident_series (standing);
CREATE INDEX bench_ab_test_state ON bench_ab_test (state);
COMMIT;
