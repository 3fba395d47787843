; The car with small roll, lateral speed and yaw rate: only what differs, and the same data.
(reset)
(in-lb)
(add-body nrb :translate (1 2) :parent-rotation-axis 3 :cm-coordinates #(0 0 !"-hra"))
(add-body rb :parent nrb :parent-rotation-axis #(!"cos(thetar)" 0 !"sin(thetar)")
          :body-rotation-axes 1 :small-angles t
          :joint-coordinates #(0 0 !"-hra") :cm-coordinates #(ce 0 !"-h")
          :inertia-matrix #2a((ixx 0 ixz) (0 iyy 0) (ixz 0 izzr)))
(add-constraint !"dot(vel(nrb0), [nrb1]) - speed")
(small !"u(1)" !"u(2)")
(add-point front :body nrb :coordinates #(l 0 0))
(setf alphaf !"angle([nrb1], vel(front), [nrb3]) - steer")
(setf alphar !"angle([nrb1], vel(nrb0), [nrb3]) - krs2*q(4)")
(add-gravity)
(add-line-force fy1 :point1 front :direction [nrb2] :magnitude !"ca1*#alphaf + cg1*ccoef1*q(4)")
(add-line-force fy2 :point1 nrb0 :direction [nrb2] :magnitude !"ca2*#alphar")
(add-moment mz1 :body1 nrb :magnitude !"cam1*#alphaf")
(add-moment mz2 :body1 nrb :magnitude !"cam2*#alphar")
(add-moment rollm :body1 rb :body2 nrb :direction [rb1]
            :magnitude !"-kroll*q(4) - croll*dot([nrb1], rot(rb) - rot(nrb))")
(set-units ca1 !"f/a" ca2 !"f/a" cam1 !"l*f/a" cam2 !"l*f/a" cg1 !"f/a" ccoef1 1 krs2 1
           kroll !"l*f/a" croll !"t*l*f/a" thetar a steer a speed !"l/t")
(set-defaults ca1 -444 ca2 -428 cam1 1080 cam2 1000 cg1 78 ccoef1 .82 krs2 -.016 l 125.5
              ce 63.4 h 15.48 ixx 5580 iyy 12000 izzr 37080 ixz 0 kroll 6211 croll 212
              nrbm 704 rbm 3831 speed 968 steer 1 thetar 5.1)
